import { describe, expect, test } from "bun:test";
import { makeOlderDatabase } from "./older-database.ts";
import { openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const command = (id: string, forgetAt = 1_000) => ({ id, replyTo: "r", forgetAt });
const at = (now: number, session = 7) => ({ now, session });
const answer = (text: string, more: object = {}) => ({
  topic: "response",
  payload: bytes(text),
  expiresAt: 1_000,
  ...more,
});

describe("commands that were taken", () => {
  test("are known to the next process, and those it must answer too", () => {
    const stateDir = newDirectory();
    {
      using store = openStore(stateDir);
      store.commands.begin({ ...command("a"), correlation: bytes("c") }, at(0));
      store.commands.begin(command("b"), at(0));
      store.commands.finish(command("b"), 504, at(0));
      store.commands.finish(command("quick"), 200, at(0));
    }
    using store = openStore(stateDir);
    expect(["a", "b", "quick", "?"].map((id) => store.commands.codeOf(id))).toEqual([
      0,
      504,
      200,
      undefined,
    ]);
    expect(store.commands.unfinished()).toEqual([{ ...command("a"), correlation: bytes("c") }]);
  });

  test("are forgotten when their time has passed", () => {
    using store = openStore(newDirectory());
    store.commands.finish(command("a", 100), 200, at(0));
    store.commands.finish(command("b", 300), 200, at(200));
    expect(store.commands.codeOf("a")).toBeUndefined();
    expect(store.commands.codeOf("b")).toBe(200);
  });

  test("are a thousand at most, the oldest go first", () => {
    using store = openStore(newDirectory());
    for (let n = 0; n < 1_005; n += 1) store.commands.finish(command(`c${n}`), 200, at(0));
    expect(store.commands.codeOf("c4")).toBeUndefined();
    expect(store.commands.codeOf("c5")).toBe(200);
    expect(store.commands.codeOf("c1004")).toBe(200);
  });
});

describe("commands of the present session", () => {
  test("are not forgotten because the clock was set", () => {
    using store = openStore(newDirectory());
    store.commands.finish({ ...command("a", 100), session: 7 }, 200, at(0));
    store.commands.finish({ ...command("b", 1e13), session: 7 }, 200, at(1e12));
    expect(store.commands.codeOf("a")).toBe(200);
    store.commands.finish({ ...command("c", 1e13), session: 8 }, 200, at(1e12, 8));
    expect(store.commands.codeOf("a")).toBeUndefined();
    expect(store.commands.codeOf("b")).toBe(200);
  });

  test("are not pushed out where they are held, until the next session", () => {
    using store = openStore(newDirectory());
    const held = { ...command("held"), session: 7, held: true };
    store.commands.begin(held, at(0));
    expect(store.commands.unfinished()).toEqual([held]);
    store.commands.finish(held, 200, at(0));
    for (let n = 0; n < 1_005; n += 1)
      store.commands.finish({ ...command(`c${n}`), session: 7 }, 200, at(0));
    expect(store.commands.codeOf("held")).toBe(200);
    expect(store.commands.codeOf("c4")).toBeUndefined();
    expect(store.commands.codeOf("c5")).toBe(200);
    expect([store.commands.heldIn(7), store.commands.heldIn(8)]).toEqual([1, 0]);
    store.commands.finish({ ...command("d"), session: 8 }, 200, at(0, 8));
    expect(store.commands.codeOf("held")).toBeUndefined();
  });
});

test("rows of an agent that knew no sessions are forgotten by age", () => {
  const stateDir = newDirectory();
  makeOlderDatabase(
    stateDir,
    5,
    "INSERT INTO command (id, code, reply_to, forget_at) VALUES ('a', 200, 'r', 100)",
  );
  using store = openStore(stateDir);
  expect(store.commands.codeOf("a")).toBe(200);
  store.commands.finish(command("b"), 200, at(200));
  expect(store.commands.codeOf("a")).toBeUndefined();
});

describe("answers in the outbox", () => {
  test("go in the order they were given, each of them, behind reports and warnings", () => {
    const stateDir = newDirectory();
    {
      using store = openStore(stateDir);
      store.responses.add([answer("1"), answer("2", { correlation: bytes("c") })], 0);
      store.outbox.events.add({ type: "Warning", topic: "event", payload: bytes("warning") });
      store.outbox.events.flush();
      store.responses.add([answer("3")], 0);
      store.outbox.put({
        kind: "reported",
        topic: "reported",
        payload: bytes("report"),
        qos: 1,
        retain: true,
      });
    }
    using store = openStore(stateDir);
    const batch = store.outbox.nextBatch(10);
    expect(batch.map(({ payload }) => new TextDecoder().decode(payload))).toEqual([
      "report",
      "warning",
      "1",
      "2",
      "3",
    ]);
    expect(batch[3]).toMatchObject({ kind: "response", retain: false, correlation: bytes("c") });
    expect(batch[2]).not.toHaveProperty("correlation");
  });

  test("are there again after a connection that ended, and gone once acknowledged", () => {
    using store = openStore(newDirectory());
    store.responses.add([answer("1"), answer("2")], 0);
    const [first] = store.outbox.nextBatch(10);
    store.outbox.sent([first?.id ?? 0]);
    store.outbox.released();
    expect(store.outbox.nextBatch(10).map(({ id }) => id)).toEqual([(first?.id ?? 0) + 1]);
    store.outbox.released();
    expect(store.outbox.topics("pod")).toEqual([]);
  });

  test("expire, and are a thousand at most", () => {
    using store = openStore(newDirectory());
    store.responses.add([answer("old", { expiresAt: 10 })], 0);
    store.responses.forgetExpired(11);
    expect(store.outbox.nextBatch(10)).toEqual([]);
    store.responses.add([answer("old", { expiresAt: 10 })], 0);
    for (let n = 0; n < 1_001; n += 1) store.responses.add([answer(String(n))], 11);
    const kept = store.outbox.nextBatch(2_000);
    expect(kept).toHaveLength(1_000);
    expect(new TextDecoder().decode(kept[0]?.payload)).toBe("1");
  });

  test("are four MiB at most, the oldest go first", () => {
    using store = openStore(newDirectory());
    const payload = (n: number) => new Uint8Array(1024 * 1024).fill(n);
    for (let n = 0; n < 6; n += 1) store.responses.add([answer("", { payload: payload(n) })], 0);
    const kept = store.outbox.nextBatch(10);
    expect(kept.map(({ payload: [first] }) => first)).toEqual([2, 3, 4, 5]);
  });
});
