import { expect, test } from "bun:test";
import type { NewEvent } from "../../../src/api/events.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { Events } from "../../../src/status/events.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

const web = { kind: "Pod", namespace: "default", name: "web" };

function event(message: string, more: Partial<NewEvent> = {}): NewEvent {
  return { type: "Normal", reason: "Pulled", object: web, message, ...more };
}

function setUp(capacity?: number): { clock: VirtualClock; events: Events; lines: unknown[] } {
  const clock = new VirtualClock({ wall: 1_000_000 });
  const lines: unknown[] = [];
  const log = createLogger({
    clock,
    level: "info",
    write: (line) => lines.push(JSON.parse(line)),
  });
  const options = { clock, log, ...(capacity === undefined ? {} : { capacity }) };
  return { clock, events: new Events(options), lines };
}

test("a repetition is counted, with its first and last time", async () => {
  const { clock, events } = setUp();
  events.record(event("a"));
  await clock.advance(5_000);
  events.record(event("b"));
  events.record(event("a"));
  expect(events.list()).toEqual([
    { ...event("b"), count: 1, first: 1_005_000, last: 1_005_000 },
    { ...event("a"), count: 2, first: 1_000_000, last: 1_005_000 },
  ]);
});

test("another reason, type or object is another event", () => {
  const { events } = setUp();
  events.record(event("a"));
  events.record(event("a", { reason: "Pulling" }));
  events.record(event("a", { type: "Warning" }));
  events.record(event("a", { object: { kind: "Node", name: "web" } }));
  expect(events.list().map(({ count }) => count)).toEqual([1, 1, 1, 1]);
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
