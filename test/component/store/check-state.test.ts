// The checks of `agent fsck` on a real database and real files, damaged in many ways.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import fc from "fast-check";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { checkDatabase } from "../../../src/store/check/check-database.ts";
import { checkStateFiles } from "../../../src/store/check/check-state-files.ts";
import { repairState } from "../../../src/store/check/repair-state.ts";
import type { StateProblem } from "../../../src/store/check/state-problem.ts";
import { SecretBox } from "../../../src/store/seal-secrets.ts";
import { lookAtSecretKey } from "../../../src/store/secret-key.ts";
import { unpackAddon } from "../../../src/store/sqlite/native-addon.ts";
import { withChangedByte } from "./changed-byte.ts";
import { files, openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const PAYLOAD = new TextEncoder().encode('{"generation":1}');
const SEALED = new TextEncoder().encode('{"generation":1,"secret":true}');

/** A closed store with rows of every kind and its files. */
function filled(): string {
  const stateDir = newDirectory();
  using store = openStore(stateDir);
  const put = Array.from({ length: 120 }, (_, n) => ({
    path: `/m/${n}.yaml`,
    document: 0,
    kind: n % 2 === 0 ? ("Secret" as const) : ("Pod" as const),
    namespace: "default",
    name: `one-${n}`,
    text: "x".repeat(300),
  }));
  store.lastGood.save({ put, removed: [] });
  const document = { epoch: "e", generation: 1, observedGeneration: 0, acceptedAt: 5 };
  for (const [source, payload] of [
    ["mqtt:node", PAYLOAD],
    ["mqtt:group/kiosks", SEALED],
  ] as const)
    store.documents.accept({
      ...document,
      source,
      payload,
      digest: `sha256:${sha256(payload)}`,
      holdsSecrets: payload === SEALED,
    });
  store.trust.write({ required: true });
  store.runs.put([{ source: "file", name: "Job default/backup", state: "{}" }]);
  return stateDir;
}

const pathOf = (stateDir: string): string => join(stateDir, "agent.db");

function problemsOf(stateDir: string, isLight = false): readonly StateProblem[] {
  const key = lookAtSecretKey(stateDir, files);
  const bytes = key !== undefined && "bytes" in key ? key.bytes : undefined;
  const path = join(stateDir, "secret.key");
  const secrets =
    bytes &&
    new SecretBox({ path, bytes, trouble: undefined, keep: () => undefined }, systemRandom);
  const nativeBinding = unpackAddon(stateDir, files);
  return [
    ...checkDatabase({ path: pathOf(stateDir), nativeBinding, secrets, isLight }),
    ...checkStateFiles({ stateDir, files }),
  ];
}

function repair(stateDir: string, problems: readonly StateProblem[]): void {
  const nativeBinding = unpackAddon(stateDir, files);
  repairState(problems, { stateDir, files, random: systemRandom, nativeBinding });
}

function edit(stateDir: string, sql: string): void {
  const sqlite = new Sqlite(pathOf(stateDir));
  // Also the schema itself.
  sqlite.unsafeMode().exec(sql);
  sqlite.close();
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 0x10;
  writeFileSync(path, bytes);
}

test("an intact state has no problem, and the check changes nothing of it", () => {
  const stateDir = filled();
  const before = readFileSync(pathOf(stateDir));
  expect(problemsOf(stateDir)).toEqual([]);
  expect(problemsOf(stateDir, true)).toEqual([]);
  expect(Buffer.compare(readFileSync(pathOf(stateDir)), before)).toBe(0);
});

test("a state that is not there yet has no problem", () => {
  expect(problemsOf(newDirectory())).toEqual([]);
});

test("beside an agent that writes it finds nothing wrong and keeps nobody from writing", () => {
  const stateDir = filled();
  using store = openStore(stateDir);
  for (let n = 0; n < 20; n += 1) {
    store.meta.set("number", String(n), "full");
    expect(problemsOf(stateDir)).toEqual([]);
  }
  expect(store.meta.get("number")).toBe("19");
});

describe("rows that cannot be used are named, removed, and come again where they are stored twice", () => {
  const cases: readonly (readonly [sentence: string, sql: string, what: RegExp])[] = [
    [
      "a document with other content",
      "UPDATE document SET payload = CAST('{}' AS BLOB) WHERE source = 'mqtt:node'",
      /the row mqtt:node of document .* digest/,
    ],
    [
      "a sealed document whose bytes were changed",
      `UPDATE document SET payload = ${withChangedByte("payload", "length(payload)")} WHERE source = 'mqtt:group/kiosks'`,
      /the row mqtt:group\/kiosks of document .* damaged/,
    ],
    [
      "a Secret of a manifest that was sealed for another row",
      "UPDATE last_good_object SET name = 'other' WHERE name = 'one-0'",
      /the row .* other of last_good_object .* moved here/,
    ],
    [
      "a Job whose state is no JSON",
      "UPDATE run SET state = 'x'",
      /the row file Job default\/backup of run/,
    ],
    [
      "an update whose state cannot be read",
      "INSERT INTO rollout VALUES ('mqtt:node', 'default/web', '7')",
      /the row mqtt:node default\/web of rollout/,
    ],
    [
      "a trust record that does not match its checksum",
      "UPDATE meta SET value = replace(value, 'true', 'false') WHERE key = 'trust'",
      /the row trust of meta .* checksum/,
    ],
  ];
  test.each(cases)("%s", (_, sql, what) => {
    const stateDir = filled();
    edit(stateDir, sql);
    const problems = problemsOf(stateDir);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.what).toMatch(what);
    expect(problems[0]?.file).toBe(pathOf(stateDir));
    repair(stateDir, problems);
    expect(problemsOf(stateDir)).toEqual([]);
    using store = openStore(stateDir);
    expect(store.origin).toBe("opened");
    expect(store.documents.get("mqtt:node")?.payload).toEqual(PAYLOAD);
    expect(store.documents.get("mqtt:group/kiosks")?.payload).toEqual(SEALED);
    expect(store.trust.read().required).toBe(true);
  });
});

test("an index that lacks a row is made anew, and nothing is lost", () => {
  const stateDir = filled();
  edit(
    stateDir,
    `INSERT INTO outbox (rank, kind, topic, payload, qos, retain, content) VALUES (1, 'state', 't', x'00', 1, 1, 'c');
     PRAGMA writable_schema = ON;
     UPDATE sqlite_schema SET sql = 'CREATE INDEX outbox_by_rank ON outbox (id, rank)' WHERE name = 'outbox_by_rank';`,
  );
  edit(
    stateDir,
    "INSERT INTO outbox (rank, kind, topic, payload, qos, retain, content) VALUES (9, 'state', 'u', x'00', 1, 1, 'c')",
  );
  edit(
    stateDir,
    `PRAGMA writable_schema = ON;
     UPDATE sqlite_schema SET sql = 'CREATE INDEX outbox_by_rank ON outbox (rank, id)' WHERE name = 'outbox_by_rank';`,
  );
  const problems = problemsOf(stateDir);
  expect(problems.map((one) => one.repair?.type)).toEqual(["Reindex"]);
  expect(problemsOf(stateDir, true)).toEqual([]);
  repair(stateDir, problems);
  expect(problemsOf(stateDir)).toEqual([]);
  using store = openStore(stateDir);
  expect(store.outbox.size).toBe(2);
});

describe("files beside the database", () => {
  const cases: readonly (readonly [name: string, repair: string | undefined])[] = [
    ["desired/mqtt-node.doc", "Reopen"],
    ["desired/mqtt-group-kiosks.doc", "Reopen"],
    ["trust.json", undefined],
    ["secret.key", "Reopen"],
  ];
  test.each(cases)("%s: cut short it is named", (name, how) => {
    const stateDir = filled();
    const file = join(stateDir, name);
    truncateSync(file, 20);
    const problems = problemsOf(stateDir).filter((one) => one.part === "state");
    expect(problems.map((one) => [one.file, one.repair?.type])).toEqual([[file, how]]);
  });

  test("a document's file that any flipped byte has changed is found, and written anew from its row", () => {
    const stateDir = filled();
    const file = join(stateDir, "desired/mqtt-node.doc");
    const whole = readFileSync(file);
    for (let at = 0; at < whole.length; at += 1) {
      flip(file, at);
      const problems = problemsOf(stateDir, true);
      // The format's number, which a newer agent may raise, is not part of the checksum.
      if (problems.length === 0) expect(whole.subarray(at - 1, at + 2).toString()).toBe(" 1 ");
      else expect(problems.map((one) => one.file)).toEqual([file]);
      writeFileSync(file, whole);
    }
    flip(file, whole.length - 1);
    repair(stateDir, problemsOf(stateDir));
    expect(problemsOf(stateDir)).toEqual([]);
    expect(Buffer.compare(readFileSync(file), whole)).toBe(0);
  });
});

test("a database that is cut or overwritten anywhere is found or harmless, and is whole after the repair", () => {
  const stateDir = filled();
  const whole = readFileSync(pathOf(stateDir));
  const damage = fc.oneof(
    fc.record({
      type: fc.constant("cut" as const),
      at: fc.integer({ min: 1, max: whole.length - 1 }),
    }),
    fc.record({
      type: fc.constant("garbage" as const),
      at: fc.nat(whole.length - 64),
    }),
  );
  let found = 0;
  fc.assert(
    fc.property(damage, ({ type, at }) => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(pathOf(stateDir) + suffix, { force: true });
      const bytes = Buffer.from(whole);
      if (type === "garbage") bytes.fill(0x5a, at, at + 64);
      writeFileSync(pathOf(stateDir), type === "cut" ? bytes.subarray(0, at) : bytes);
      const problems = problemsOf(stateDir);
      if (problems.length > 0) found += 1;
      repair(stateDir, problems);
      expect(problemsOf(stateDir)).toEqual([]);
      using store = openStore(stateDir);
      expect(store.documents.get("mqtt:node")?.payload).toEqual(PAYLOAD);
    }),
    { numRuns: 40 },
  );
  expect(found).toBeGreaterThan(10);
  expect(existsSync(pathOf(stateDir))).toBe(true);
});

test("a row whose key and content are damaged is gone after one repair, and its index is right", () => {
  const stateDir = filled();
  const bytes = readFileSync(pathOf(stateDir));
  const key = "/m/78.yamlSecretdefaultone-78";
  const places = [...bytes.toString("latin1").matchAll(RegExp(key, "g"))].map(({ index }) => index);
  // Once in the table, before the sealed text, and once in its index.
  expect(places).toHaveLength(2);
  for (const at of places) {
    const damaged = Buffer.from(bytes);
    damaged.fill(0x5a, at + key.length - 4, at + key.length + 60);
    writeFileSync(pathOf(stateDir), damaged);
    repair(stateDir, problemsOf(stateDir));
    expect(problemsOf(stateDir)).toEqual([]);
  }
});

test("a database that a deeper check condemns is set aside, also when it can be opened", () => {
  const stateDir = filled();
  const problem = { part: "database", file: pathOf(stateDir), what: "w", remedy: "r" } as const;
  repair(stateDir, [{ ...problem, repair: { type: "Rebuild" } }]);
  expect(existsSync(`${pathOf(stateDir)}.corrupt-1`)).toBe(true);
  using store = openStore(stateDir);
  expect(store.lastGood.load().copies).toEqual([]);
  expect(store.documents.get("mqtt:group/kiosks")?.payload).toEqual(SEALED);
});
