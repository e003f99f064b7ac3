import { describe, expect, test } from "bun:test";
import { openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const command = (id: string, forgetAt = 1_000) => ({ id, replyTo: "r", forgetAt });
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
      store.commands.begin({ ...command("a"), correlation: bytes("c") }, 0);
      store.commands.begin(command("b"), 0);
      store.commands.finish(command("b"), 504, 0);
      store.commands.finish(command("quick"), 200, 0);
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
    store.commands.finish(command("a", 100), 200, 0);
    store.commands.finish(command("b", 300), 200, 200);
    expect(store.commands.codeOf("a")).toBeUndefined();
    expect(store.commands.codeOf("b")).toBe(200);
  });

  test("are a thousand at most, the oldest go first", () => {
    using store = openStore(newDirectory());
    for (let n = 0; n < 1_005; n += 1) store.commands.finish(command(`c${n}`), 200, 0);
    expect(store.commands.codeOf("c4")).toBeUndefined();
    expect(store.commands.codeOf("c5")).toBe(200);
    expect(store.commands.codeOf("c1004")).toBe(200);
  });
});

describe("answers in the outbox", () => {
  test("go in the order they were given, each of them, behind reports and warnings", () => {
    const stateDir = newDirectory();
    {
      using store = openStore(stateDir);
      store.responses.add([answer("1"), answer("2", { correlation: bytes("c") })], 0);
      store.outbox.addEvent({ type: "Warning", topic: "event", payload: bytes("warning") });
      store.outbox.flushEvents();
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
    store.outbox.sent(first?.id ?? 0);
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
});
