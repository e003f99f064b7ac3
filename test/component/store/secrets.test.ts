import { storedDocuments, totalChanges } from "../../fakes/in-the-store.ts";
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { AcceptedDocument } from "../../../src/protocol/desired-document.ts";
import type { LastGood } from "../../../src/api/pod/last-good.ts";
import { reasonOf } from "../../../src/lib/errors.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import { SecretBox } from "../../../src/store/seal-secrets.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import type { Store } from "../../../src/store/store.ts";
import { withChangedByte } from "./changed-byte.ts";
import { makeOlderDatabase } from "./older-database.ts";
import { files, openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const VALUE = "correct-horse-battery-staple";

function aRow(more: Partial<LastGood> = {}): LastGood {
  const name = more.name ?? "login";
  const kind = more.kind ?? "Secret";
  const text = JSON.stringify({ kind, metadata: { name }, stringData: { password: VALUE } });
  return { path: "/m/a.yaml", document: 0, kind, namespace: "default", name, text, ...more };
}

function aDocument(generation: number, more: Partial<AcceptedDocument> = {}): AcceptedDocument {
  const payload = new TextEncoder().encode(`{"generation": ${generation}, "password": "${VALUE}"}`);
  return {
    source: "mqtt:node",
    epoch: "e1",
    generation,
    digest: `sha256:${sha256(payload)}`,
    payload,
    holdsSecrets: true,
    observedGeneration: 0,
    acceptedAt: 1_700_000_000_123,
    ...more,
  };
}

/** A state directory that has seen a Secret in every place where one may lie. */
function filled(): string {
  const stateDir = newDirectory();
  using store = openStore(stateDir);
  fill(store);
  return stateDir;
}

function fill(store: Store): void {
  store.lastGood.save({ put: [aRow()], removed: [] });
  for (const generation of [1, 2, 3]) store.documents.accept(aDocument(generation));
}

/** expect's own answer has no type. */
const containing = (part: string): unknown => expect.stringContaining(part);
const keyOf = (stateDir: string): string => join(stateDir, "secret.key");

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function showing(directory: string): readonly string[] {
  const spellings = [VALUE, Buffer.from(VALUE).toString("base64"), VALUE.slice(4, 20)];
  return filesIn(directory).filter((path) => {
    const bytes = readFileSync(path);
    return spellings.some((text) => bytes.includes(text));
  });
}

function changeRow(stateDir: string, sql: string): void {
  const sqlite = new Sqlite(join(stateDir, "agent.db"));
  sqlite.exec(sql);
  sqlite.close();
}

describe("the key", () => {
  test("is made at the first start, for root only, and stays", () => {
    const stateDir = newDirectory();
    openStore(stateDir)[Symbol.dispose]();
    const key = readFileSync(keyOf(stateDir));
    expect([key.length, statSync(keyOf(stateDir)).mode & 0o777]).toEqual([32, 0o600]);
    chmodSync(keyOf(stateDir), 0o644);
    using store = openStore(stateDir);
    expect(readFileSync(keyOf(stateDir))).toEqual(key);
    expect(statSync(keyOf(stateDir)).mode & 0o777).toBe(0o600);
    expect(store.secrets.trouble).toBeUndefined();
    expect(store.secrets.keyId).toBe(sha256(key).slice(0, 16));
  });

  test("is on the disk before anything is sealed with it", () => {
    const stateDir = newDirectory();
    let broken = true;
    const noKey = {
      ...files,
      writeAtomic(path: string, data: Uint8Array | string, mode: number): void {
        if (broken && path.endsWith("secret.key")) throw new Error("no space left on device");
        files.writeAtomic(path, data, mode);
      },
    };
    using store = openStore(stateDir, { files: noKey });
    expect(store.secrets.trouble).toContain("no space left on device");
    const reason = (run: () => void): string => {
      try {
        run();
      } catch (error) {
        return reasonOf(error, "");
      }
      return "kept";
    };
    expect(reason(() => store.lastGood.save({ put: [aRow()], removed: [] }))).toBe(
      "SecretKeyUnavailable",
    );
    expect(reason(() => store.documents.accept(aDocument(1)))).toBe("SecretKeyUnavailable");
    expect(store.lastGood.load()).toEqual({ copies: [], lost: [] });
    expect(storedDocuments(store.documents)).toEqual([]);
    // What is no Secret is kept all the same.
    store.documents.accept(aDocument(1, { holdsSecrets: false }));
    broken = false;
    fill(store);
    expect(existsSync(keyOf(stateDir))).toBe(true);
    expect(store.lastGood.load().copies).toEqual([aRow()]);
  });

  const spoilt: readonly [string, (path: string) => void][] = [
    ["cut off", (path) => writeFileSync(path, readFileSync(path).subarray(0, 7))],
    ["empty", (path) => writeFileSync(path, "")],
    ["too long", (path) => writeFileSync(path, "x".repeat(33))],
    ["nothing but zeros", (path) => writeFileSync(path, new Uint8Array(32))],
    [
      "a directory",
      (path) => {
        rmSync(path);
        mkdirSync(join(path, "inside"), { recursive: true });
      },
    ],
  ];
  test.each(spoilt)("that is %s is set aside for a new one", (_, spoil) => {
    const stateDir = filled();
    spoil(keyOf(stateDir));
    {
      using store = openStore(stateDir);
      expect(store.secrets.trouble).toContain("secret.key.damaged");
      expect(store.lastGood.load().lost).toHaveLength(1);
      fill(store);
      expect(store.lastGood.load().lost).toEqual([]);
    }
    expect(existsSync(`${keyOf(stateDir)}.damaged`)).toBe(true);
    using store = openStore(stateDir);
    expect(store.secrets.trouble).toBeUndefined();
    expect(store.lastGood.load().copies).toEqual([aRow()]);
  });

  test("that is spoilt is set aside beside those of before", () => {
    const stateDir = newDirectory();
    for (const text of ["first", "second", "third"]) {
      writeFileSync(keyOf(stateDir), text);
      using store = openStore(stateDir);
      expect(store.secrets.trouble).toContain(`${keyOf(stateDir)}.damaged`);
    }
    const names = ["secret.key.damaged", "secret.key.damaged.2", "secret.key.damaged.3"];
    const kept = names.map((name) => readFileSync(join(stateDir, name), "utf8"));
    expect(kept).toEqual(["first", "second", "third"]);
  });

  test("that is spoilt and cannot be set aside is left alone, and nothing is sealed", () => {
    const stateDir = filled();
    writeFileSync(keyOf(stateDir), "cut");
    const stuck = {
      ...files,
      renameDurably(): void {
        throw new Error("read-only file system");
      },
    };
    using store = openStore(stateDir, { files: stuck });
    expect(store.secrets.trouble).toContain("has 3 bytes");
    expect(store.secrets.trouble).toContain("read-only file system");
    expect(() => store.documents.accept(aDocument(4))).toThrow("a Secret cannot be stored");
    expect(readFileSync(keyOf(stateDir), "utf8")).toBe("cut");
  });

  test("that cannot be read is left alone, and nothing is sealed, however often", () => {
    const stateDir = filled();
    const before = readFileSync(keyOf(stateDir));
    const bad = {
      ...files,
      read(path: string, maxBytes: number): Uint8Array {
        if (path.endsWith("secret.key")) throw new Error("input/output error");
        return files.read(path, maxBytes);
      },
    };
    for (let start = 0; start < 2; start += 1) {
      using store = openStore(stateDir, { files: bad });
      expect(store.secrets.trouble).toContain("input/output error; the key file is left unchanged");
      expect(store.documents.get("mqtt:node")?.lost).toBeDefined();
      expect(() => store.documents.accept(aDocument(4))).toThrow("a Secret cannot be stored");
    }
    expect(readFileSync(keyOf(stateDir))).toEqual(before);
    expect(readdirSync(stateDir).filter((name) => name.includes("damaged"))).toEqual([]);
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(3));
    expect(store.lastGood.load().copies).toEqual([aRow()]);
  });

  test("that is a link is left alone too", () => {
    const stateDir = filled();
    const elsewhere = `${keyOf(stateDir)}.elsewhere`;
    renameSync(keyOf(stateDir), elsewhere);
    symlinkSync(elsewhere, keyOf(stateDir));
    using store = openStore(stateDir);
    expect(store.secrets.trouble).toContain("is a symlink, not a regular file");
    expect(() => fill(store)).toThrow("a Secret cannot be stored");
    expect(readlinkSync(keyOf(stateDir))).toBe(elsewhere);
  });

  test("that others may read, and that cannot be closed to them, is used, and said", () => {
    const stateDir = filled();
    chmodSync(keyOf(stateDir), 0o644);
    const before = readFileSync(keyOf(stateDir));
    const readOnly = {
      ...files,
      setMode(path: string, mode: number): void {
        if (path.endsWith("secret.key")) throw new Error("read-only file system");
        files.setMode(path, mode);
      },
    };
    {
      using store = openStore(stateDir, { files: readOnly });
      expect([store.secrets.trouble, store.secrets.warning]).toEqual([
        undefined,
        "read-only file system",
      ]);
      expect(store.documents.get("mqtt:node")).toEqual(aDocument(3));
      store.documents.accept(aDocument(4));
    }
    expect(readFileSync(keyOf(stateDir))).toEqual(before);
    chmodSync(keyOf(stateDir), 0o600);
    using store = openStore(stateDir, { files: readOnly });
    expect([store.secrets.trouble, store.secrets.warning]).toEqual([undefined, undefined]);
  });
});

describe("a Secret at rest", () => {
  test("stands in no file in plain sight, and is there again after a restart", () => {
    const stateDir = newDirectory();
    {
      using store = openStore(stateDir);
      fill(store);
      // With its -wal, while it is open.
      const names = ["agent.db", "agent.db-wal", "desired/mqtt-node.doc", "desired/mqtt-node.prev"];
      expect(names.filter((name) => !existsSync(join(stateDir, name)))).toEqual([]);
      expect(showing(stateDir)).toEqual([]);
    }
    expect(showing(stateDir)).toEqual([]);
    using store = openStore(stateDir);
    expect(store.documents.repairs).toEqual([]);
    expect(store.lastGood.load()).toEqual({ copies: [aRow()], lost: [] });
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(3));
    expect(storedDocuments(store.documents)).toEqual([aDocument(3)]);
  });

  test("would be seen if it were not sealed", () => {
    const stateDir = newDirectory();
    using store = openStore(stateDir);
    store.lastGood.save({ put: [aRow({ kind: "ConfigMap" })], removed: [] });
    store.documents.accept(aDocument(1, { holdsSecrets: false }));
    expect(showing(stateDir).length).toBeGreaterThanOrEqual(2);
  });

  test("is written once as long as it says the same", () => {
    using store = openStore(newDirectory());
    fill(store);
    const before = totalChanges(store.database);
    store.lastGood.save({ put: [aRow()], removed: [aRow({ name: "other" })] });
    store.documents.accept(aDocument(3, { acceptedAt: 7 }));
    expect(totalChanges(store.database)).toBe(before);
    store.lastGood.save({ put: [aRow({ document: 1 })], removed: [] });
    expect(store.lastGood.load().copies).toEqual([aRow({ document: 1 })]);
  });

  test("goes when it is removed", () => {
    using store = openStore(newDirectory());
    fill(store);
    const others = [
      aRow({ kind: "ConfigMap" }),
      aRow({ kind: "Pod" }),
      aRow({ kind: "PersistentVolumeClaim" }),
    ];
    store.lastGood.save({ put: others, removed: [aRow()] });
    const kinds = (): readonly string[] => store.lastGood.load().copies.map(({ kind }) => kind);
    expect(kinds().toSorted()).toEqual(["ConfigMap", "PersistentVolumeClaim", "Pod"]);
    store.lastGood.save({ put: [], removed: others });
    expect(kinds()).toEqual([]);
  });

  test("outlives the database inside the document's file", () => {
    const stateDir = filled();
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(join(stateDir, `agent.db${suffix}`), { force: true });
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(3));
    expect(store.documents.repairs.map(({ type }) => type)).toEqual(["Restored"]);
  });

  test("that looks sealed and is not is kept like one that is", () => {
    const stateDir = newDirectory();
    const payload = new TextEncoder().encode("agent-sealed:v1:but no cipher");
    const digest = `sha256:${sha256(payload)}`;
    const document = aDocument(1, { payload, digest, holdsSecrets: false });
    {
      using store = openStore(stateDir);
      store.documents.accept(document);
    }
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual({ ...document, holdsSecrets: true });
  });
});

describe("a lost key", () => {
  test.each([
    ["gone", (path: string) => rmSync(path)],
    ["replaced by another", (path: string) => writeFileSync(path, "x".repeat(32))],
  ])("%s: Secrets are lost and say so, everything else is there", (_, lose) => {
    const stateDir = filled();
    const config = aRow({ kind: "ConfigMap" });
    {
      using store = openStore(stateDir);
      store.lastGood.save({ put: [config], removed: [] });
    }
    lose(keyOf(stateDir));
    using store = openStore(stateDir);
    const { copies, lost } = store.lastGood.load();
    expect(copies).toEqual([config]);
    const { text: _text, ...key } = aRow();
    expect<unknown>(lost).toEqual([{ ...key, why: containing("sealed with the key") }]);
    const { payload: _payload, ...facts } = aDocument(3);
    expect<unknown>(store.documents.get("mqtt:node")).toEqual({
      ...facts,
      payload: new Uint8Array(),
      lost: containing("sealed with the key"),
    });
    expect(store.documents.synced()).toContain("mqtt:node");
    expect(store.documents.repairs).toEqual([]);
  });

  test("is healed by the same word once more", () => {
    const stateDir = filled();
    rmSync(keyOf(stateDir));
    {
      using store = openStore(stateDir);
      store.documents.accept(aDocument(3));
      store.lastGood.save({ put: [aRow()], removed: [] });
      expect(store.documents.get("mqtt:node")).toEqual(aDocument(3));
    }
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(3));
    expect(store.lastGood.load()).toEqual({ copies: [aRow()], lost: [] });
    expect(showing(stateDir)).toEqual([]);
  });

  test("that is found again opens everything again", () => {
    const stateDir = filled();
    const key = readFileSync(keyOf(stateDir));
    rmSync(keyOf(stateDir));
    openStore(stateDir)[Symbol.dispose]();
    writeFileSync(keyOf(stateDir), key);
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(3));
    expect(store.lastGood.load().lost).toEqual([]);
  });
});

describe("damage", () => {
  test.each([
    ["a changed byte", `UPDATE last_good_object SET text = ${withChangedByte("text", "61")}`],
    ["a cut row", "UPDATE last_good_object SET text = substr(text, 1, 20)"],
    ["an empty row", "UPDATE last_good_object SET text = x''"],
    ["a row in plain", "UPDATE last_good_object SET text = CAST('{}' AS BLOB)"],
    ["a row of another name", "UPDATE last_good_object SET name = 'admin'"],
  ])("%s is lost, not taken for something else", (_, sql) => {
    const stateDir = filled();
    changeRow(stateDir, sql);
    using store = openStore(stateDir);
    const { copies, lost } = store.lastGood.load();
    expect([copies, lost.map(({ why }) => why.startsWith("it is damaged"))]).toEqual([[], [true]]);
  });

  test("of the row alone is repaired from the file", () => {
    const stateDir = filled();
    changeRow(stateDir, `UPDATE document SET payload = ${withChangedByte("payload", "61")}`);
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toEqual(aDocument(3));
    expect(store.documents.repairs.map(({ type }) => type)).toEqual(["Restored"]);
  });

  test("of a document that was moved to another generation is a loss", () => {
    const stateDir = filled();
    changeRow(stateDir, "UPDATE document SET generation = 9, serial = 99");
    using store = openStore(stateDir);
    expect(store.documents.get("mqtt:node")).toMatchObject({
      generation: 9,
      lost: containing("moved"),
    });
  });
});

describe("an older agent", () => {
  test("finds its tables as they were, and documents without Secrets byte for byte", () => {
    const stateDir = newDirectory();
    const plain = aDocument(1, { holdsSecrets: false });
    {
      using store = openStore(stateDir);
      store.documents.accept(plain);
      store.lastGood.save({ put: [aRow({ kind: "Pod" }), aRow()], removed: [] });
    }
    const sqlite = new Sqlite(join(stateDir, "agent.db"));
    const columns = "path, document, namespace, name, text";
    const { kind: _kind, ...pod } = aRow({ kind: "Pod" });
    expect(sqlite.prepare<[], unknown>(`SELECT ${columns} FROM last_good`).all()).toEqual([pod]);
    const row = sqlite
      .prepare<[], { readonly payload: Uint8Array }>("SELECT payload FROM document")
      .get();
    sqlite.close();
    expect(Buffer.compare(row?.payload ?? Buffer.alloc(0), plain.payload)).toBe(0);
    const file = readFileSync(join(stateDir, "desired", "mqtt-node.doc"));
    expect(Buffer.compare(file.subarray(-plain.payload.length), plain.payload)).toBe(0);
  });

  test("leaves a database that gets what it lacks, and loses nothing", () => {
    const stateDir = newDirectory();
    const { path, document, namespace, name, text } = aRow({ kind: "Pod" });
    const row = [path, namespace, name, document, text].map((value) => `'${value}'`).join();
    makeOlderDatabase(stateDir, 2, `INSERT INTO last_good VALUES (${row})`);
    using store = openStore(stateDir);
    expect([store.origin, store.recovered]).toEqual(["opened", undefined]);
    fill(store);
    expect(store.lastGood.load().copies).toEqual([aRow({ kind: "Pod" }), aRow()]);
  });
});

describe("the digest of what a container reads", () => {
  const boxOf = (byte: number): SecretBox => {
    const bytes = new Uint8Array(32).fill(byte);
    const key = { path: "/key", bytes, trouble: undefined, keep: () => undefined };
    return new SecretBox(key, systemRandom);
  };

  test("is the same for the same, another for another, and tells nothing without the key", () => {
    const box = boxOf(1);
    const digest = box.configDigest("a");
    expect(digest).toMatch(/^v1:[0-9a-f]{8}:[0-9a-f]{64}$/);
    expect(digest.slice(3, 11)).toBe(box.keyId.slice(0, 8));
    expect(boxOf(1).configDigest("a")).toBe(digest);
    expect(box.configDigest("b")).not.toBe(digest);
    expect(boxOf(2).configDigest("a").slice(12)).not.toBe(digest.slice(12));
    expect(digest).not.toContain(sha256("a"));
  });
});
