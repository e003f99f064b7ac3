import { totalChanges } from "../../fakes/in-the-store.ts";
import { expect, test } from "bun:test";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { makeOlderDatabase } from "./older-database.ts";
import { openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";
import type { KilledInstances } from "../../../src/api/pod/observed-pod.ts";

const newDirectory = temporaryDirectories();

const two: KilledInstances = new Map([
  ["a", { id: "1", always: false }],
  ["b", { id: "2", always: true }],
]);

function change(stateDir: string, sql: string): void {
  const sqlite = new Sqlite(join(stateDir, "agent.db"));
  sqlite.exec(sql);
  sqlite.close();
}

test("killed containers are there after a restart until others have followed them", () => {
  const stateDir = newDirectory();
  {
    using store = openStore(stateDir);
    store.killed.put("x", two);
    store.killed.put("y", two);
  }
  {
    using store = openStore(stateDir);
    expect(store.killed.pods().toSorted()).toEqual(["x", "y"]);
    expect(store.killed.get("x")).toEqual(two);
    store.killed.settle("x", ["a", "never there"]);
    store.killed.forget("y");
    expect([...store.killed.get("x").keys()]).toEqual(["b"]);
  }
  using store = openStore(stateDir);
  expect(store.killed.pods()).toEqual(["x"]);
  expect(store.killed.get("x")).toEqual(new Map([["b", { id: "2", always: true }]]));
  store.killed.settle("x", ["b"]);
  expect(store.killed.pods()).toEqual([]);
});

test("of a container only the newest that was killed counts", () => {
  const stateDir = newDirectory();
  const next: KilledInstances = new Map([["a", { id: "3", always: true }]]);
  {
    using store = openStore(stateDir);
    store.killed.put("x", two);
    store.killed.put("x", next);
  }
  using store = openStore(stateDir);
  expect(store.killed.get("x")).toEqual(new Map([...two, ...next]));
});

test("a kill costs a row, its end a statement, and the same again nothing", () => {
  using store = openStore(newDirectory());
  const changes = (run: () => void): number => {
    const before = totalChanges(store.database);
    run();
    return totalChanges(store.database) - before;
  };
  expect(changes(() => store.killed.put("x", two))).toBe(2);
  expect(changes(() => store.killed.put("x", two))).toBe(0);
  expect(changes(() => store.killed.put("x", new Map()))).toBe(0);
  expect(changes(() => store.killed.settle("x", ["a"]))).toBe(1);
  expect(changes(() => store.killed.settle("x", ["a"]))).toBe(0);
  expect(changes(() => store.killed.settle("y", ["a"]))).toBe(0);
  expect(changes(() => store.killed.forget("x"))).toBe(1);
  expect(changes(() => store.killed.forget("x"))).toBe(0);
  expect(changes(() => store.killed.put("x", two))).toBe(2);
});

test("what cannot be written is not known either: all of a pod, or nothing", () => {
  const stateDir = newDirectory();
  {
    using store = openStore(stateDir);
    change(
      stateDir,
      "CREATE TRIGGER no BEFORE INSERT ON killed WHEN NEW.container = 'b' BEGIN SELECT RAISE(FAIL, 'no'); END",
    );
    expect(() => store.killed.put("x", two)).toThrow("no");
    expect(store.killed.get("x")).toEqual(new Map());
  }
  using store = openStore(stateDir);
  expect(store.killed.pods()).toEqual([]);
});

test("a database of the agent before gets what it lacks, and loses nothing", () => {
  const stateDir = newDirectory();
  makeOlderDatabase(stateDir, 3, "INSERT INTO failure VALUES ('x', 'SandboxLost', 'gone')");
  using store = openStore(stateDir);
  expect([store.origin, store.recovered]).toEqual(["opened", undefined]);
  expect(store.failures.get("x")).toEqual({ reason: "SandboxLost", message: "gone" });
  store.killed.put("x", two);
  expect(store.killed.get("x")).toEqual(two);
});
