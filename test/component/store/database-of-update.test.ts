// What an update of the agent does to the database: it is copied before it is changed, and the version before opens it after.

import { afterAll, expect, test } from "bun:test";
import Sqlite from "better-sqlite3";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { realFiles } from "../../../src/host/real-files.ts";
import { systemRandom } from "../../../src/lib/system-clock.ts";
import { SCHEMA_STEPS } from "../../../src/store/sqlite/schema.ts";
import { Store } from "../../../src/store/store.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";
import { makeOlderDatabase } from "./older-database.ts";

const temp = makeTempDirectory();
afterAll(() => temp.remove());

function open(stateDir: string): Store {
  return Store.open({ stateDir, files: realFiles(), random: systemRandom });
}

const FILL = "INSERT INTO meta VALUES ('kept', 'yes')";

test("a database of an older version is copied before it is changed, once", () => {
  const stateDir = temp.directory("older");
  makeOlderDatabase(stateDir, 2, FILL);
  using store = open(stateDir);
  expect([store.origin, store.meta.get("kept")]).toEqual(["opened", "yes"]);
  const copy = join(stateDir, "agent.db.before-update");
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  const before = new Sqlite(copy, { readonly: true });
  expect(before.pragma("user_version", { simple: true })).toBe(2);
  expect(before.prepare("SELECT value FROM meta WHERE key = 'kept'").pluck().get()).toBe("yes");
  before.close();
  expect(readdirSync(stateDir).filter((name) => name.endsWith(".new"))).toEqual([]);
});

test("a new database and one of the same version are not copied", () => {
  const stateDir = temp.directory("same");
  open(stateDir)[Symbol.dispose]();
  open(stateDir)[Symbol.dispose]();
  expect(existsSync(join(stateDir, "agent.db.before-update"))).toBe(false);
});

test("an old copy that cannot be replaced does not keep the agent from starting", () => {
  const stateDir = temp.directory("in-the-way");
  makeOlderDatabase(stateDir, 2, FILL);
  mkdirSync(join(stateDir, "agent.db.before-update", "x"), { recursive: true });
  using store = open(stateDir);
  expect(store.meta.get("kept")).toBe("yes");
});

test("each step of the schema only adds, so that every version before opens the new database", () => {
  const shape = (steps: number): ReadonlyMap<string, readonly string[]> => {
    const sqlite = new Sqlite(":memory:");
    for (const step of SCHEMA_STEPS.slice(0, steps)) sqlite.exec(step);
    const tables = sqlite
      .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all();
    const columns = (table: string): readonly string[] =>
      sqlite
        .prepare<[string], { line: string }>(
          "SELECT name || ' ' || type || ' ' || pk AS line FROM pragma_table_info(?) ORDER BY cid",
        )
        .all(table)
        .map(({ line }) => line);
    return new Map(tables.map(({ name }) => [name, columns(name)]));
  };
  const newest = shape(SCHEMA_STEPS.length);
  for (let steps = 1; steps < SCHEMA_STEPS.length; steps += 1)
    for (const [table, columns] of shape(steps))
      expect({ steps, table, columns: newest.get(table)?.slice(0, columns.length) }).toEqual({
        steps,
        table,
        columns: [...columns],
      });
  const required = /ADD COLUMN(?![^;]*DEFAULT)[^;]*NOT NULL/i;
  for (const step of SCHEMA_STEPS) {
    expect(step).not.toMatch(/\b(DROP|RENAME|DELETE|UPDATE)\b/i);
    expect(step).not.toMatch(required);
  }
});
