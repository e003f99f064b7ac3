import { totalChanges } from "../../fakes/in-the-store.ts";
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../../../src/lib/system-sha256.ts";
import { openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";
import type { Removal } from "../../../src/api/pod/desired-pod.ts";

const newDirectory = temporaryDirectories();
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const removal = (uid: string, why: Removal["why"] = "Deleted"): Removal => ({
  uid,
  namespace: "default",
  name: `pod-${uid}`,
  why,
});

test("a new state directory is made for root only, a second start finds what the first wrote", () => {
  const stateDir = join(newDirectory(), "state");
  let id: string;
  {
    using store = openStore(stateDir);
    expect(store.origin).toBe("created");
    expect(store.recovered).toBeUndefined();
    store.meta.set("key", "value");
    id = store.incarnation.id;
    expect(id).toMatch(/^[0-9a-f]{16}$/);
  }
  using store = openStore(stateDir);
  expect(store.origin).toBe("opened");
  expect(store.meta.get("key")).toBe("value");
  expect(store.incarnation.id).toBe(id);
  for (const name of readdirSync(stateDir))
    expect([name, (statSync(join(stateDir, name)).mode & 0o077).toString(8)]).toEqual([name, "0"]);
});

test("a database knows all pods if none was there before it, and one that replaced another does not", () => {
  const stateDir = newDirectory();
  const knowsAllPods = (): boolean => {
    using store = openStore(stateDir);
    return store.knowsAllPods;
  };
  expect(knowsAllPods()).toBe(true);
  mkdirSync(join(stateDir, "pods/b2b9fb4b"), { recursive: true });
  expect(knowsAllPods()).toBe(true);
  rmSync(join(stateDir, "agent.db"));
  expect(knowsAllPods()).toBe(false);
  rmSync(join(stateDir, "pods"), { recursive: true });
  expect(knowsAllPods()).toBe(false);
});

/** Another process, such as a check that outlives the agent, which takes the database and gives it back a second later. */
const HOLDS = `
  const { Database } = require("bun:sqlite");
  const database = new Database(process.argv[1]);
  database.exec("BEGIN EXCLUSIVE");
  console.log("held");
  Bun.sleepSync(1_000);
  database.exec("ROLLBACK");
`;

test("a start waits for a database that another process holds for a moment", async () => {
  const stateDir = newDirectory();
  openStore(stateDir)[Symbol.dispose]();
  const command = [process.execPath, "-e", HOLDS, join(stateDir, "agent.db")];
  const holder = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  const said = await holder.stdout.getReader().read();
  expect(new TextDecoder().decode(said.value)).toBe("held\n");
  using store = openStore(stateDir);
  expect([store.origin, store.recovered]).toEqual(["opened", undefined]);
  expect(await holder.exited).toBe(0);
});

test("the reserve is there from the start", () => {
  const stateDir = newDirectory();
  using store = openStore(stateDir);
  expect(store.origin).toBe("created");
  expect(statSync(join(stateDir, "agent.db.reserve")).size).toBe(256 * 1024);
});

test("a new database does not begin again with the sessions of a lost one", () => {
  const first = (): number => {
    using store = openStore(newDirectory());
    return store.incarnation.nextSession();
  };
  expect(new Set(Array.from({ length: 8 }, first)).size).toBe(8);
});

test("a session number never comes twice, and costs one write per hundred", () => {
  const stateDir = newDirectory();
  const numbers: number[] = [];
  {
    using store = openStore(stateDir);
    const before = totalChanges(store.database);
    for (let i = 0; i < 100; i += 1) numbers.push(store.incarnation.nextSession());
    expect(totalChanges(store.database) - before).toBe(1);
    numbers.push(store.incarnation.nextSession());
    expect(totalChanges(store.database) - before).toBe(2);
  }
  using store = openStore(stateDir);
  numbers.push(store.incarnation.nextSession());
  const [first = 0] = numbers;
  expect(numbers.slice(0, 3)).toEqual([first, first + 1, first + 2]);
  expect(numbers.at(-1)).toBe(first + 200);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
});

test("removals are there after a restart until they are settled", () => {
  const stateDir = newDirectory();
  {
    using store = openStore(stateDir);
    store.removals.begin([removal("a"), removal("b", "Replaced")]);
    store.removals.settle("a");
    expect(store.removals.all()).toEqual([removal("b", "Replaced")]);
  }
  using store = openStore(stateDir);
  expect(store.removals.all()).toEqual([removal("b", "Replaced")]);
});

test("a replacement becomes a deletion, a deletion never a replacement", () => {
  const stateDir = newDirectory();
  {
    using store = openStore(stateDir);
    store.removals.begin([removal("a", "Replaced"), removal("b", "Deleted")]);
    store.removals.begin([removal("a", "Deleted"), removal("b", "Replaced")]);
  }
  using store = openStore(stateDir);
  expect(store.removals.all()).toEqual([removal("a"), removal("b")]);
});

test("last good manifests are replaced by key, in one transaction", () => {
  const stateDir = newDirectory();
  const row = {
    path: "/m/a.yaml",
    document: 0,
    kind: "Pod" as const,
    namespace: "default",
    name: "web",
    text: "{}",
  };
  const other = { ...row, name: "db", document: 1 };
  {
    using store = openStore(stateDir);
    store.lastGood.save({ put: [row, other], removed: [] });
    store.lastGood.save({ put: [{ ...row, text: '{"a":1}', document: 2 }], removed: [other] });
  }
  using store = openStore(stateDir);
  expect(store.lastGood.load()).toEqual({
    copies: [{ ...row, text: '{"a":1}', document: 2 }],
    lost: [],
  });
});

test("nothing is written while nothing changes", () => {
  const stateDir = newDirectory();
  using store = openStore(stateDir);
  const document = {
    source: "mqtt:node",
    epoch: "e",
    generation: 1,
    digest: `sha256:${sha256(bytes("payload"))}`,
    payload: bytes("payload"),
    observedGeneration: 0,
    acceptedAt: 5,
  } as const;
  const lastGood = {
    path: "/a",
    document: 0,
    kind: "Pod" as const,
    namespace: "n",
    name: "a",
    text: "{}",
  };
  const status = {
    kind: "pod",
    topic: "t",
    payload: bytes("status"),
    qos: 1,
    retain: true,
  } as const;
  const repeat = (): void => {
    store.documents.accept({ ...document, acceptedAt: 99 });
    store.documents.setObserved("mqtt:node", 1);
    store.lastGood.save({ put: [lastGood], removed: [{ ...lastGood, name: "never there" }] });
    store.removals.begin([removal("a")]);
    store.removals.settle("b");
    store.meta.set("key", "value");
    store.meta.remove("absent");
    store.outbox.put(status);
    store.outbox.events.flush();
    store.outbox.events.settleDropped(() => ({
      type: "Warning",
      topic: "t",
      payload: bytes("gap"),
    }));
  };
  repeat();
  store.outbox.sent(store.outbox.nextBatch(10).map(({ id }) => id));

  const watched = (): unknown => ({
    changes: totalChanges(store.database),
    files: ["agent.db", "agent.db-wal", "desired/mqtt-node.doc"].map((name) => {
      const { size, mtimeMs, ino } = statSync(join(stateDir, name));
      return { size, mtimeMs, ino };
    }),
    names: readdirSync(join(stateDir, "desired")),
  });
  const before = watched();
  for (let i = 0; i < 20; i += 1) {
    repeat();
    store.outbox.released();
  }
  expect(store.outbox.nextBatch(10)).toEqual([]);
  expect(watched()).toEqual(before);
});

test("an unchanged refresh is sent and never touches the disk", () => {
  const stateDir = newDirectory();
  using store = openStore(stateDir);
  const report = (seq: number) =>
    ({
      kind: "reported",
      topic: "reported",
      payload: bytes(`{"seq":${seq}}`),
      content: "same",
      qos: 1,
      retain: true,
      refresh: true,
    }) as const;
  store.outbox.put(report(1));
  store.outbox.sent(store.outbox.nextBatch(10).map(({ id }) => id));
  const before = [totalChanges(store.database), statSync(join(stateDir, "agent.db-wal")).mtimeMs];
  for (let seq = 2; seq < 20; seq += 1) {
    expect(store.outbox.put(report(seq))).toBe(true);
    const batch = store.outbox.nextBatch(10);
    expect(batch.map(({ payload }) => new TextDecoder().decode(payload))).toEqual([
      `{"seq":${seq}}`,
    ]);
    if (seq % 2 === 0) store.outbox.released();
    else store.outbox.sent(batch.map(({ id }) => id));
  }
  const after = [totalChanges(store.database), statSync(join(stateDir, "agent.db-wal")).mtimeMs];
  expect(after).toEqual(before);
});

test("a transaction that fails leaves nothing", () => {
  using store = openStore(newDirectory());
  const fail = (): void =>
    store.database.transaction(() => {
      store.meta.set("a", "1");
      throw new Error("no");
    });
  expect(fail).toThrow("no");
  expect(store.meta.get("a")).toBeUndefined();
});

test("a durable transaction refuses to join one that is not", () => {
  using store = openStore(newDirectory());
  expect(() => store.database.transaction(() => store.removals.begin([removal("a")]))).toThrow(
    "cannot join",
  );
  expect(store.removals.all()).toEqual([]);
});

test("a stray file in stateDir/desired disturbs nothing", () => {
  const stateDir = newDirectory();
  openStore(stateDir)[Symbol.dispose]();
  writeFileSync(join(stateDir, "desired", "README"), "hello");
  using store = openStore(stateDir);
  expect(store.documents.repairs).toEqual([]);
  expect(existsSync(join(stateDir, "desired", "README"))).toBe(true);
});

test("memory that is given back loses nothing", () => {
  using store = openStore(newDirectory());
  store.meta.set("key", "value");
  store.database.releaseMemory();
  expect(store.meta.get("key")).toBe("value");
});

test("what the database writes is counted: its log and its checkpoints, and nothing for a read", () => {
  using store = openStore(newDirectory());
  const { database, meta } = store;
  const written = (run: () => void): number => {
    const before = database.writtenBytes ?? Number.NaN;
    run();
    return (database.writtenBytes ?? Number.NaN) - before;
  };
  const text = "x".repeat(100_000);
  expect(written(() => void meta.get("key"))).toBe(0);
  writeFileSync(join(newDirectory(), "other"), text);
  const once = written(() => meta.set("key", text));
  expect(once).toBeGreaterThan(100_000);
  expect(once).toBeLessThan(200_000);
  const inTransaction = written(() => database.transaction(() => meta.set("key", `${text}y`)));
  expect(inTransaction).toBeGreaterThan(100_000);
  expect(inTransaction).toBeLessThan(200_000);
  // Each page goes to the log, and from time to time from there to the database.
  const many = written(() => {
    for (let n = 0; n < 100; n += 1) meta.set("key", String(n % 10).repeat(100_000));
  });
  expect(many).toBeGreaterThan(10_000_000);
});
