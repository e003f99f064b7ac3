import { storedDocuments } from "../../fakes/in-the-store.ts";
import { describe, expect, test } from "bun:test";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { AcceptedDocument } from "../../../src/protocol/desired-document.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { files, openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();

function aDocument(generation: number, change: Partial<AcceptedDocument> = {}): AcceptedDocument {
  const payload = new Uint8Array([0, 10, 13, 255, generation, 10]);
  return {
    source: "mqtt:node",
    epoch: "e1",
    generation,
    digest: `sha256:${sha256(payload)}`,
    payload,
    observedGeneration: 0,
    acceptedAt: 1_700_000_000_123,
    ...change,
  };
}

/** A state directory in which generations 1 to `last` were accepted. */
function accepted(last: number): string {
  const stateDir = newDirectory();
  using store = openStore(stateDir);
  for (let n = 1; n <= last; n += 1) store.documents.accept(aDocument(n));
  return stateDir;
}

function loseDatabase(stateDir: string): void {
  for (const suffix of ["", "-wal", "-shm"])
    rmSync(join(stateDir, `agent.db${suffix}`), { force: true });
}

const doc = (stateDir: string): string => join(stateDir, "desired", "mqtt-node.doc");
const prev = (stateDir: string): string => join(stateDir, "desired", "mqtt-node.prev");

describe("accepting", () => {
  test("keeps row and file, and the predecessor as a file", () => {
    const stateDir = accepted(2);
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(2));
    expect(storedDocuments(store.documents)).toEqual([aDocument(2)]);
    expect(store.documents.repairs).toEqual([]);
    expect(store.documents.synced()).toContain("mqtt:node");
    expect(store.documents.synced()).not.toContain("mqtt:group/kiosks");
    expect(readdirSync(join(stateDir, "desired")).toSorted()).toEqual([
      "mqtt-node.doc",
      "mqtt-node.prev",
    ]);
    expect(readFileSync(doc(stateDir)).subarray(-6)).toEqual(Buffer.from(aDocument(2).payload));
    expect(readFileSync(prev(stateDir)).subarray(-6)).toEqual(Buffer.from(aDocument(1).payload));
  });

  test("remembers what it took the place of, until the next one", () => {
    const stateDir = accepted(1);
    const { epoch, generation, digest } = aDocument(1);
    const superseded = { epoch, generation, digest, observedGeneration: 0, signed: true };
    {
      using store = openStore(stateDir);
      store.documents.accept(aDocument(2, { superseded }));
    }
    {
      using store = openStore(stateDir);
      expect(store.documents.get("mqtt:node")).toEqual(aDocument(2, { superseded }));
      store.documents.accept(aDocument(3));
    }
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(3));
  });

  test("says nothing of that when an older agent has accepted another one since", () => {
    const stateDir = accepted(1);
    const { epoch, generation, digest } = aDocument(1);
    const superseded = { epoch, generation, digest, observedGeneration: 0 };
    using store = openStore(stateDir);
    store.documents.accept(aDocument(2, { superseded }));
    store.database.query("UPDATE document SET generation = 3, digest = 'sha256:3'").run();
    expect(store.documents.get("mqtt:node")?.superseded).toBeUndefined();
  });

  test("remembers the highest generation that converged", () => {
    const stateDir = accepted(3);
    {
      using store = openStore(stateDir);
      store.documents.setObserved("mqtt:node", 3);
      store.documents.setObserved("mqtt:group/none", 3);
    }
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")?.observedGeneration).toBe(3);
    expect(storedDocuments(store.documents)).toHaveLength(1);
  });

  test("accepts nothing when the file cannot be written", () => {
    const stateDir = accepted(1);
    let full = true;
    const failing = {
      ...files,
      writeAtomic(path: string, data: Uint8Array | string, mode: number): void {
        if (full && path.endsWith(".doc")) throw new Error("no space left on device");
        files.writeAtomic(path, data, mode);
      },
    };
    {
      using store = openStore(stateDir, { files: failing });
      expect(() => store.documents.accept(aDocument(2))).toThrow("no space left");
      expect(store.documents.get("mqtt:node")).toEqual(aDocument(1));
      full = false;
      store.documents.accept(aDocument(3));
    }
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(3));
  });

  test("a removed source has no document, but has spoken", () => {
    const stateDir = accepted(2);
    {
      using store = openStore(stateDir);
      store.documents.remove("mqtt:node");
    }
    using store = openStore(stateDir);
    expect(storedDocuments(store.documents)).toEqual([]);
    expect(store.documents.synced()).toContain("mqtt:node");
    expect(store.documents.synced()).toEqual(["mqtt:node"]);
    expect(readdirSync(join(stateDir, "desired"))).toEqual([]);
  });

  test("every source that has ever had one is known, whatever else is", () => {
    const stateDir = accepted(1);
    using store = openStore(stateDir);
    for (const group of ["kiosks", "a_b%", "spoken:x"] as const)
      store.documents.accept({ ...aDocument(1), source: `mqtt:group/${group}` });
    store.meta.set("spoke", "1");
    store.meta.set("spoken:nobody", "1");
    expect(store.documents.synced()).toEqual([
      "mqtt:group/a_b%",
      "mqtt:group/kiosks",
      "mqtt:group/spoken:x",
      "mqtt:node",
    ]);
  });
});

describe("after a loss", () => {
  test("the database is rebuilt from the file", () => {
    const stateDir = accepted(2);
    loseDatabase(stateDir);
    {
      using store = openStore(stateDir);
      expect(store.documents.get("mqtt:node")).toEqual(aDocument(2));
      expect(store.documents.synced()).toContain("mqtt:node");
      expect(store.documents.repairs.map(({ type }) => type)).toEqual(["Restored"]);
    }
    using store = openStore(stateDir);
    expect(store.documents.repairs).toEqual([]);
  });

  test("the predecessor takes over when the file is torn as well", () => {
    const stateDir = accepted(2);
    loseDatabase(stateDir);
    writeFileSync(doc(stateDir), readFileSync(doc(stateDir)).subarray(0, -1));
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(1));
    expect(store.documents.repairs.map(({ type }) => type)).toEqual([
      "Damaged",
      "Restored",
      "Rewritten",
    ]);
  });

  test("without a valid file the source has not spoken", () => {
    const stateDir = accepted(2);
    loseDatabase(stateDir);
    writeFileSync(doc(stateDir), "garbage");
    rmSync(prev(stateDir));
    using store = openStore(stateDir);
    expect(storedDocuments(store.documents)).toEqual([]);
    expect(store.documents.synced()).not.toContain("mqtt:node");
  });

  test("a database that fell back is brought forward by the file", () => {
    const stateDir = accepted(1);
    const old = readFileSync(join(stateDir, "agent.db"));
    {
      using store = openStore(stateDir);
      store.documents.accept(aDocument(5, { epoch: "e2" }));
    }
    loseDatabase(stateDir);
    writeFileSync(join(stateDir, "agent.db"), old);
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(5, { epoch: "e2" }));
  });
});

describe("an intact database", () => {
  test.each([
    ["missing", (path: string) => rmSync(path)],
    ["damaged", (path: string) => writeFileSync(path, "garbage")],
    ["empty", (path: string) => writeFileSync(path, "")],
  ])("writes a %s file anew", (_, spoil) => {
    const stateDir = accepted(2);
    const whole = readFileSync(doc(stateDir));
    spoil(doc(stateDir));
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(2));
    expect(readFileSync(doc(stateDir))).toEqual(whole);
    expect(store.documents.repairs.map(({ type }) => type)).toContain("Rewritten");
  });

  test("a row that the disk has changed gives way to its file, and is never written over it", () => {
    const stateDir = accepted(2);
    const whole = readFileSync(doc(stateDir));
    const database = new Sqlite(join(stateDir, "agent.db"));
    database.exec("UPDATE document SET payload = x'00'");
    database.close();
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(2));
    expect(readFileSync(doc(stateDir))).toEqual(whole);
  });

  test("a row that the disk has changed is lost without its file, and an older file is not written over", () => {
    const stateDir = accepted(2);
    const older = readFileSync(prev(stateDir));
    writeFileSync(doc(stateDir), older);
    const database = new Sqlite(join(stateDir, "agent.db"));
    database.exec("UPDATE document SET payload = x'00'");
    database.close();
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toMatchObject({
      generation: 2,
      payload: new Uint8Array(),
      lost: "its content does not have its digest",
    });
    expect(readFileSync(doc(stateDir))).toEqual(older);
  });

  test("is not led back by an older file", () => {
    const stateDir = accepted(2);
    const whole = readFileSync(doc(stateDir));
    writeFileSync(doc(stateDir), readFileSync(prev(stateDir)));
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")?.generation).toBe(2);
    expect(readFileSync(doc(stateDir))).toEqual(whole);
  });
});
