import { totalChanges } from "../../fakes/in-the-store.ts";
import { describe, expect, test } from "bun:test";
import { cpSync, rmSync } from "node:fs";
import type { DroppedEvents } from "../../../src/store/outbox/event-ring.ts";
import type { Outbox, OutboxMessage, OutboxRow } from "../../../src/store/outbox/outbox.ts";
import type { Store } from "../../../src/store/store.ts";
import { openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = ({ payload }: OutboxRow): string => new TextDecoder().decode(payload);

function message(kind: OutboxMessage["kind"], topic: string, payload: string): OutboxMessage {
  return { kind, topic, payload: bytes(payload), qos: 1, retain: true };
}
const event = (type: "Normal" | "Warning", payload: string) =>
  ({ type, topic: "event", payload: bytes(payload) }) as const;

/** Events that reach the broker; their numbers. */
function sayAll(outbox: Outbox, count: number): readonly number[] {
  for (let n = 0; n < count; n += 1) outbox.events.add(event("Normal", "e"));
  outbox.events.flush();
  const ids = outbox.nextBatch(count).map(({ id }) => id);
  outbox.sent(ids);
  return ids;
}

function increasing(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].toSorted((a, b) => a - b);
}

function sendAll(outbox: Outbox, setAside: readonly string[] = []): readonly string[] {
  const batch = outbox.nextBatch(100, setAside);
  outbox.sent(batch.map(({ id }) => id));
  return batch.map(text);
}

describe("the order of sending", () => {
  test("is state, reported, Warning events, rest", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.put(message("pod", "pod/a", "pod a"));
    outbox.events.add(event("Normal", "normal"));
    outbox.events.add(event("Warning", "warning"));
    outbox.events.flush();
    outbox.put(message("reported", "reported", "reported"));
    outbox.put(message("state", "state", "birth"));
    expect(sendAll(outbox)).toEqual(["birth", "reported", "warning", "pod a", "normal"]);
    expect(sendAll(outbox)).toEqual([]);
  });

  test("a batch is no longer than asked for, and never names a row twice", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    for (let n = 0; n < 5; n += 1) outbox.put(message("pod", `pod/${n}`, `${n}`));
    expect(outbox.nextBatch(0)).toEqual([]);
    expect(outbox.nextBatch(-1)).toEqual([]);
    expect(outbox.nextBatch(3).map(text)).toEqual(["0", "1", "2"]);
    expect(outbox.nextBatch(3).map(text)).toEqual(["3", "4"]);
    expect(outbox.nextBatch(3)).toEqual([]);
  });
});

describe("newest wins", () => {
  test("for a row that waits", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    expect(outbox.put(message("pod", "pod/a", "1"))).toBe(true);
    expect(outbox.put(message("pod", "pod/a", "2"))).toBe(true);
    expect(outbox.put(message("pod", "pod/a", "2"))).toBe(false);
    expect(sendAll(outbox)).toEqual(["2"]);
  });

  test("but a row in flight is not replaced before it is acknowledged", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.put(message("pod", "pod/a", "1"));
    const [first] = outbox.nextBatch(10);
    outbox.put(message("pod", "pod/a", "2"));
    outbox.put(message("pod", "pod/a", "3"));
    expect(outbox.nextBatch(10)).toEqual([]);
    outbox.sent([first?.id ?? 0]);
    expect(sendAll(outbox)).toEqual(["3"]);
    expect(outbox.put(message("pod", "pod/a", "3"))).toBe(false);
  });

  test("and is dropped by a disconnect when there is a newer one", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.put(message("pod", "pod/a", "1"));
    outbox.put(message("pod", "pod/b", "b"));
    outbox.nextBatch(10);
    outbox.put(message("pod", "pod/a", "2"));
    outbox.released();
    expect(sendAll(outbox).toSorted()).toEqual(["2", "b"]);
  });

  test("and is never sent again although a full disk keeps it beside the newer one", () => {
    using store = openStore(newDirectory());
    const { outbox, database } = store;
    outbox.put(message("pod", "pod/a", "1"));
    outbox.nextBatch(10);
    outbox.put(message("pod", "pod/a", "2"));
    database
      .query(
        "CREATE TEMP TRIGGER full BEFORE DELETE ON outbox BEGIN SELECT RAISE(ABORT, 'full'); END",
      )
      .run();
    expect(() => outbox.released()).toThrow("full");
    const [newer, ...others] = outbox.nextBatch(10);
    expect(newer === undefined ? undefined : text(newer)).toBe("2");
    expect(others).toEqual([]);
    // In flight is the newest: what comes now waits behind it, and takes no older place.
    outbox.put(message("pod", "pod/a", "3"));
    expect(outbox.nextBatch(10)).toEqual([]);
    database.query("DROP TRIGGER full").run();
    outbox.sent([newer?.id ?? 0]);
    expect(sendAll(outbox)).toEqual(["3"]);
    expect(outbox.size).toBe(0);
  });

  test("a row the broker did not take is sent again, unless there is a newer one", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.put(message("pod", "pod/a", "1"));
    outbox.put(message("pod", "pod/b", "b"));
    const [a, b] = outbox.nextBatch(10);
    outbox.put(message("pod", "pod/a", "2"));
    outbox.retry(a?.id ?? 0);
    outbox.put(message("pod", "pod/a", "3"));
    expect(outbox.nextBatch(10).map(text)).toEqual(["3"]);
    outbox.retry(b?.id ?? 0);
    expect(outbox.nextBatch(10).map(text)).toEqual(["b"]);
  });

  test("a value that went away and came back is sent again: the broker may have seen the other", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.put(message("pod", "pod/a", "A"));
    sendAll(outbox);
    outbox.put(message("pod", "pod/a", "B"));
    outbox.nextBatch(10);
    outbox.released();
    outbox.put(message("pod", "pod/a", "A"));
    expect(sendAll(outbox)).toEqual(["A"]);
  });
});

describe("across a restart", () => {
  test("what was not acknowledged is sent, once per topic", () => {
    const stateDir = newDirectory();
    {
      using store = openStore(stateDir);
      store.outbox.put(message("pod", "pod/a", "1"));
      store.outbox.nextBatch(10);
      store.outbox.put(message("pod", "pod/a", "2"));
      store.outbox.events.add(event("Warning", "kept"));
      store.outbox.events.flush();
      store.outbox.events.add(event("Warning", "not committed yet"));
    }
    using store = openStore(stateDir);
    expect(sendAll(store.outbox)).toEqual(["kept", "2"]);
  });

  test("what the broker has already is not written again", () => {
    const stateDir = newDirectory();
    {
      using store = openStore(stateDir);
      store.outbox.put({ ...message("pod", "pod/a", "seq 1"), content: "same" });
      sendAll(store.outbox);
    }
    using store = openStore(stateDir);
    const before = totalChanges(store.database);
    const again = { ...message("pod", "pod/a", "seq 2"), content: "same" };
    expect(store.outbox.put(again)).toBe(false);
    expect(store.outbox.put({ ...again, refresh: true })).toBe(true);
    expect(sendAll(store.outbox)).toEqual(["seq 2"]);
    expect(totalChanges(store.database)).toBe(before);
  });

  test("event numbers go on", () => {
    const stateDir = newDirectory();
    const numbers: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      using store = openStore(stateDir);
      numbers.push(...sayAll(store.outbox, 2));
    }
    expect(numbers).toEqual(increasing(numbers));
  });

  test("event numbers go on when a power cut takes back what the broker has seen", () => {
    const stateDir = newDirectory();
    const numbers: number[] = [];
    for (let cut = 0; cut < 3; cut += 1) {
      const onDisk = newDirectory();
      {
        using store = openStore(stateDir);
        numbers.push(...sayAll(store.outbox, 1));
        // The first write of a process is durable, those after it are not.
        cpSync(stateDir, onDisk, { recursive: true });
        for (let flush = 0; flush < 5; flush += 1) numbers.push(...sayAll(store.outbox, 30));
      }
      rmSync(stateDir, { recursive: true });
      cpSync(onDisk, stateDir, { recursive: true });
    }
    expect(numbers).toEqual(increasing(numbers));
  });

  test("event numbers stay unique when more are used than were reserved", () => {
    using store = openStore(newDirectory());
    const numbers = Array.from({ length: 5 }, () => sayAll(store.outbox, 400)).flat();
    expect(numbers).toHaveLength(2_000);
    expect(numbers).toEqual(increasing(numbers));
  });

  test("event numbers tell the order in which the events were added", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.events.add(event("Warning", "1"));
    outbox.events.add(event("Normal", "2"));
    outbox.events.add(event("Warning", "3"));
    outbox.events.flush();
    const rows = outbox.nextBatch(10).toSorted((a, b) => a.id - b.id);
    expect(rows.map(text)).toEqual(["1", "2", "3"]);
  });
});

describe("clearing a topic", () => {
  test("sends an empty payload once and forgets the topic", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.put(message("pod", "pod/a", "1"));
    expect(outbox.topics("pod")).toEqual(["pod/a"]);
    sendAll(outbox);
    expect(outbox.topics("pod")).toEqual(["pod/a"]);
    expect(outbox.topics("state")).toEqual([]);
    outbox.put(message("pod", "pod/a", ""));
    expect(sendAll(outbox)).toEqual([""]);
    expect(outbox.topics("pod")).toEqual([]);
    expect(outbox.put(message("pod", "pod/a", ""))).toBe(false);
  });

  test("sends nothing where nothing ever was", () => {
    using store = openStore(newDirectory());
    expect(store.outbox.put(message("pod", "pod/never", ""))).toBe(false);
    expect(sendAll(store.outbox)).toEqual([]);
  });
});

describe("a refresh in memory", () => {
  const refresh = (payload: string): OutboxMessage => ({
    ...message("reported", "reported", payload),
    content: "same",
    refresh: true,
  });

  test("comes again after a disconnect, the newest only", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.put(refresh("1"));
    sendAll(outbox);
    outbox.put(refresh("2"));
    outbox.put(refresh("3"));
    expect(outbox.nextBatch(10).map(text)).toEqual(["3"]);
    outbox.released();
    expect(sendAll(outbox)).toEqual(["3"]);
  });

  test("gives way to a change, which waits for its acknowledgement", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.put(refresh("1"));
    sendAll(outbox);
    outbox.put(refresh("2"));
    const [flying] = outbox.nextBatch(10);
    outbox.put(message("reported", "reported", "changed"));
    expect(outbox.nextBatch(10)).toEqual([]);
    outbox.sent([flying?.id ?? 0]);
    expect(sendAll(outbox)).toEqual(["changed"]);
    outbox.put(message("reported", "reported", "changed again"));
    expect(sendAll(outbox)).toEqual(["changed again"]);
  });

  test("takes its place in the order", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.put(refresh("1"));
    sendAll(outbox);
    outbox.put(message("pod", "pod/a", "pod"));
    outbox.put(message("state", "state", "birth"));
    outbox.put(refresh("2"));
    expect(outbox.nextBatch(2).map(text)).toEqual(["birth", "2"]);
    expect(outbox.nextBatch(2).map(text)).toEqual(["pod"]);
  });
});

describe("a topic the broker refuses", () => {
  test("is left out while it is set aside", () => {
    using store = openStore(newDirectory());
    const { outbox } = store;
    outbox.put(message("pod", "pod/a", "a"));
    outbox.put(message("pod", "pod/b", "b"));
    expect(sendAll(outbox, ["pod/a"])).toEqual(["b"]);
    outbox.put(message("pod", "pod/a", "a2"));
    expect(sendAll(outbox, ["pod/a"])).toEqual([]);
    expect(sendAll(outbox)).toEqual(["a2"]);
  });
});

function lostOf({ outbox: { events } }: Store): object {
  return { Normal: events.lost("Normal"), Warning: events.lost("Warning") };
}

describe("the ring of events", () => {
  const eventCaps = { Normal: 3, Warning: 2 };

  test("drops the oldest of each type and counts them", () => {
    const stateDir = newDirectory();
    {
      using store = openStore(stateDir, { eventCaps });
      for (let n = 1; n <= 5; n += 1) {
        store.outbox.events.add(event("Normal", `n${n}`));
        store.outbox.events.add(event("Warning", `w${n}`));
        if (n === 2) store.outbox.events.flush();
      }
      expect(store.outbox.events.flush()).toBe(true);
      expect(store.outbox.events.flush()).toBe(false);
      // Of the metrics: since this process began.
      expect(lostOf(store)).toEqual({ Normal: 2, Warning: 3 });
    }
    using store = openStore(stateDir, { eventCaps });
    expect(lostOf(store)).toEqual({ Normal: 0, Warning: 0 });
    expect(store.outbox.events.dropped()).toEqual({ Normal: 2, Warning: 3 });
    const gap = (lost: DroppedEvents) => event("Warning", `gap ${lost.Normal} ${lost.Warning}`);
    expect(store.outbox.events.settleDropped(gap)).toBe(true);
    expect(store.outbox.events.dropped()).toEqual({ Normal: 0, Warning: 0 });
    expect(store.outbox.events.settleDropped(gap)).toBe(false);
    expect(sendAll(store.outbox)).toEqual(["w4", "w5", "gap 2 3", "n3", "n4", "n5"]);
  });

  test("counts right when a row in flight is dropped and then acknowledged", () => {
    using store = openStore(newDirectory(), { eventCaps });
    const { outbox } = store;
    for (const n of [1, 2, 3]) outbox.events.add(event("Normal", `n${n}`));
    outbox.events.flush();
    const flying = outbox.nextBatch(1);
    outbox.events.add(event("Normal", "n4"));
    outbox.events.flush();
    outbox.sent(flying.map(({ id }) => id));
    for (const n of [5, 6]) outbox.events.add(event("Normal", `n${n}`));
    outbox.events.flush();
    expect(sendAll(outbox)).toEqual(["n4", "n5", "n6"]);
  });

  test("commits many events in one transaction, and none without events", () => {
    using store = openStore(newDirectory());
    const before = totalChanges(store.database);
    store.outbox.events.add(event("Normal", "a"));
    expect(totalChanges(store.database)).toBe(before);
    expect(store.outbox.nextBatch(10)).toEqual([]);
    store.outbox.events.add(event("Warning", "b"));
    expect(store.outbox.nextBatch(10)).toEqual([]);
    store.outbox.events.flush();
    const reservation = 1;
    expect(totalChanges(store.database)).toBe(before + 2 + reservation);
    expect(store.outbox.events.flush()).toBe(false);
    store.outbox.events.add(event("Normal", "c"));
    store.outbox.events.flush();
    expect(totalChanges(store.database)).toBe(before + 3 + reservation);
  });
});
