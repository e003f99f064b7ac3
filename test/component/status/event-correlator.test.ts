import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { NewEvent, RecordedEvent } from "../../../src/api/v1/events.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { Events } from "../../../src/status/event-correlator.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const web = { kind: "Pod", namespace: "default", name: "web" };

function event(message: string, more: Partial<NewEvent> = {}): NewEvent {
  return { type: "Normal", reason: "Pulled", object: web, message, ...more };
}

interface SetUp {
  readonly clock: VirtualClock;
  readonly events: Events;
  readonly lines: unknown[];
  /** What was handed on, oldest first. */
  readonly recorded: RecordedEvent[];
}

function setUp(capacity?: number): SetUp {
  const clock = new VirtualClock({ wall: 1_000_000 });
  const lines: unknown[] = [];
  const log = createLogger({
    clock,
    level: "info",
    write: (line) => lines.push(JSON.parse(line)),
  });
  const recorded: RecordedEvent[] = [];
  const onRecorded = (said: RecordedEvent): void => void recorded.push(said);
  const options = { clock, log, onRecorded, ...(capacity === undefined ? {} : { capacity }) };
  return { clock, events: new Events(options), lines, recorded };
}

test("a repetition is counted, with its first and last time", async () => {
  const { clock, events } = setUp();
  events.record(event("a"));
  await clock.advance(5_000);
  events.record(event("b"));
  events.record(event("a"));
  expect(events.list()).toEqual([
    { ...event("b"), id: 2, count: 1, first: 1_005_000, last: 1_005_000 },
    { ...event("a"), id: 1, count: 2, first: 1_000_000, last: 1_005_000 },
  ]);
});

test("another reason, type or object is another event", () => {
  const { events } = setUp();
  events.record(event("a"));
  events.record(event("a", { reason: "Pulling" }));
  events.record(event("a", { type: "Warning" }));
  events.record(event("a", { object: { kind: "Node", name: "web" } }));
  events.record(event("a", { object: { ...web, uid: "1" } }));
  events.record(event("a", { object: { ...web, uid: "2" } }));
  events.record(event("a", { object: { ...web, uid: "2", fieldPath: "spec.containers{a}" } }));
  expect(events.list().map(({ count }) => count)).toEqual([1, 1, 1, 1, 1, 1, 1]);
});

test("only so many are kept: the one longest not heard of goes", () => {
  const { events } = setUp(2);
  events.record(event("a"));
  events.record(event("b"));
  events.record(event("a"));
  events.record(event("c"));
  expect(events.list().map(({ message }) => message)).toEqual(["a", "c"]);
});

test("of one object", () => {
  const { events } = setUp();
  events.record(event("a"));
  events.record(event("b", { object: { ...web, name: "other" } }));
  expect(events.list(web).map(({ message }) => message)).toEqual(["a"]);
});

test("each is a log line; an identical warning only once a minute", () => {
  const { events, lines } = setUp();
  const failed = event("no", { type: "Warning", reason: "FailedMount" });
  events.record(event("a", { object: { kind: "Node", name: "pi" } }));
  events.record(failed);
  events.record(failed);
  const time = "1970-01-01T00:16:40Z";
  expect(lines).toEqual([
    { time, level: "info", msg: "event", reason: "Pulled", object: "node/pi", message: "a" },
    {
      time,
      level: "warn",
      msg: "event",
      reason: "FailedMount",
      object: "pod/default/web",
      message: "no",
    },
  ]);
});

test("every occurrence that is kept is handed on, under one id", () => {
  const { events, recorded } = setUp();
  for (const message of ["a", "b", "a"]) events.record(event(message));
  expect(recorded.map(({ id, message, count }) => [id, message, count])).toEqual([
    [1, "a", 1],
    [2, "b", 1],
    [1, "a", 2],
  ]);
});

test("a wrong clock changes what is shown, not what is decided", async () => {
  const { clock, events } = setUp(2);
  events.record(event("a"));
  clock.stepWall(-900_000);
  await clock.advance(1_000);
  events.record(event("b"));
  clock.stepWall(-100_000);
  events.record(event("c"));
  expect(events.list().map(({ message, last }) => [message, last])).toEqual([
    ["b", 101_000],
    ["c", 1_000],
  ]);
});

test("a message may be as long as a pod likes, and is kept to a kilobyte", () => {
  const { events } = setUp();
  events.record(event("x".repeat(100_000)));
  events.record(event("x".repeat(100_000)));
  const shown = events.list().map(({ message, count }) => [message.length, message.at(-1), count]);
  expect(shown).toEqual([[1024, "…", 2]]);
});

describe("similar events", () => {
  const messages = (events: Events): readonly string[] =>
    events.list().map(({ message, count }) => `${message} x${count}`);

  test("beyond ten different ones become one, with the latest words", () => {
    const { events } = setUp();
    for (let n = 1; n <= 14; n += 1) events.record(event(`m${n}`));
    expect(messages(events).slice(0, 10)).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => `m${n} x1`),
    );
    expect(messages(events).slice(10)).toEqual(["(combined from similar events): m14 x4"]);
  });

  test("go on being counted one by one where they are known", () => {
    const { events } = setUp();
    for (let n = 1; n <= 11; n += 1) events.record(event(`m${n}`));
    events.record(event("m3"));
    expect(messages(events).at(-1)).toBe("m3 x2");
  });

  test("are told apart again when ten minutes have passed", async () => {
    const { clock, events } = setUp();
    for (let n = 1; n <= 11; n += 1) events.record(event(`m${n}`));
    await clock.advance(599_999);
    events.record(event("still"));
    expect(messages(events).at(-1)).toBe("(combined from similar events): still x2");
    await clock.advance(1);
    events.record(event("anew"));
    expect(messages(events).at(-1)).toBe("anew x1");
  });

  test("do not count what they were combined to", async () => {
    const { clock, events } = setUp();
    for (let n = 1; n <= 11; n += 1) events.record(event(`m${n}`));
    await clock.advance(500_000);
    for (let n = 1; n <= 9; n += 1) events.record(event(`m${n}`));
    events.record(event("m11"));
    await clock.advance(200_000);
    events.record(event("anew"));
    expect(messages(events).slice(-2)).toEqual([
      "(combined from similar events): m11 x2",
      "anew x1",
    ]);
  });

  test("are those of one reason, one type and one container", () => {
    const { events } = setUp();
    for (let n = 1; n <= 10; n += 1) events.record(event(`m${n}`));
    events.record(event("other", { reason: "Started" }));
    events.record(event("other", { type: "Warning" }));
    events.record(event("other", { object: { ...web, fieldPath: "spec.containers{a}" } }));
    events.record(event("other", { object: { ...web, uid: "next life" } }));
    expect(messages(events).slice(10)).toEqual(["other x1", "other x1", "other x1", "other x1"]);
  });
});

describe("an object that says too much", () => {
  const reasons = (from: number, to: number): readonly NewEvent[] =>
    Array.from({ length: to - from }, (_, n) => event("m", { reason: `R${from + n}` }));

  test("is heard 25 times, then once in five minutes; the others are heard as ever", async () => {
    const { clock, events, recorded } = setUp();
    for (const one of reasons(0, 40)) events.record(one);
    expect(recorded).toHaveLength(25);
    events.record(event("m", { object: { ...web, uid: "next life" } }));
    expect(recorded).toHaveLength(26);
    await clock.advance(300_000);
    for (const one of reasons(40, 45)) events.record(one);
    expect(recorded).toHaveLength(27);
  });

  test("is heard with every repetition of what is known", () => {
    const { events, recorded } = setUp();
    for (const one of reasons(0, 25)) events.record(one);
    for (let n = 0; n < 100; n += 1) events.record(event("m", { reason: "R3" }));
    expect(recorded.at(-1)).toMatchObject({ reason: "R3", count: 101 });
  });
});

describe("when there are too many", () => {
  const pod = (n: number): NewEvent["object"] => ({ ...web, name: `p${n}` });
  const say = (events: Events, type: NewEvent["type"], count: number): void => {
    for (let n = 0; n < count; n += 1) events.record(event(type, { type, object: pod(n) }));
  };
  const types = (events: Events): Readonly<Record<string, number>> => {
    const groups = Map.groupBy(events.list(), ({ type }) => type);
    return {
      Normal: groups.get("Normal")?.length ?? 0,
      Warning: groups.get("Warning")?.length ?? 0,
    };
  };

  test("Warnings survive any flood of Normal events", () => {
    const { events } = setUp(50);
    say(events, "Warning", 20);
    say(events, "Normal", 500);
    expect(types(events)).toEqual({ Normal: 30, Warning: 20 });
  });

  test("a flood of Warnings leaves room to see what is normal now", () => {
    const { events } = setUp(50);
    say(events, "Normal", 50);
    say(events, "Warning", 500);
    expect(types(events)).toEqual({ Normal: 10, Warning: 40 });
    events.record(event("new"));
    expect(events.list().at(-1)?.message).toBe("new");
  });
});

test("no stream of events grows the memory, and the newest is always kept or counted", () => {
  const object = fc.record({
    kind: fc.constantFrom("Pod", "Node"),
    namespace: fc.constant("default"),
    name: fc.constantFrom("a", "b", "c"),
    uid: fc.integer({ min: 0, max: 40 }).map(String),
  });
  const said = fc.record({
    type: fc.constantFrom("Normal" as const, "Warning" as const),
    reason: fc.constantFrom("R1", "R2", "R3"),
    object,
    message: fc.integer({ min: 0, max: 30 }).map(String),
  });
  const step = fc.record({ said, gap: fc.constantFrom(0, 1, 1_000, 300_000), wall: fc.integer() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      let monotonic = 0;
      let wall = 0;
      const counts = new Map<number, number>();
      const log = createLogger({
        clock: new VirtualClock(),
        level: "error",
        write: () => undefined,
      });
      const clock = Object.assign(new VirtualClock(), {
        now: () => wall,
        monotonic: () => monotonic,
      });
      const events = new Events({
        clock,
        log,
        capacity: 20,
        onRecorded: ({ id, count }) => {
          expect(count).toBe((counts.get(id) ?? 0) + 1);
          counts.set(id, count);
        },
      });
      for (const one of steps) {
        monotonic += one.gap;
        wall = one.wall;
        const before = [...counts.values()].reduce((sum, count) => sum + count, 0);
        events.record(one.said);
        const after = [...counts.values()].reduce((sum, count) => sum + count, 0);
        const list = events.list();
        expect(list.length).toBeLessThanOrEqual(20);
        expect(new Set(list.map(({ id }) => id)).size).toBe(list.length);
        if (after > before) expect(list.at(-1)).toMatchObject({ type: one.said.type, last: wall });
      }
    }),
    { numRuns: 60 },
  );
});
