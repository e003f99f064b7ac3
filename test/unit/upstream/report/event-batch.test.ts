import { expect, test } from "bun:test";
import type { RecordedEvent } from "../../../../src/api/v1/events.ts";
import { eventPayload, gapEvent } from "../../../../src/upstream/report/event-batch.ts";
import { packetsOf } from "../../../../src/upstream/publish-packets.ts";
import { byteLength } from "../../../../src/lib/short-text.ts";

const EVENT: RecordedEvent = {
  id: 3,
  type: "Warning",
  reason: "Unhealthy",
  object: {
    kind: "Pod",
    namespace: "shop",
    name: "web",
    uid: "u",
    fieldPath: "spec.containers{a}",
  },
  message: "Readiness probe failed: HTTP 500",
  count: 1,
  first: 1_000,
  last: 61_000,
};

function wire(event: Partial<RecordedEvent>): unknown {
  return JSON.parse(new TextDecoder().decode(eventPayload({ ...EVENT, ...event }, "boot-1")));
}

const OBJECT = { kind: "Pod", namespace: "shop", name: "web" };

test("contains what happened, when, and to which object", () => {
  expect(wire({})).toEqual({
    time: "1970-01-01T00:01:01Z",
    boot: "boot-1",
    type: "Warning",
    reason: "Unhealthy",
    object: OBJECT,
    message: "Readiness probe failed: HTTP 500",
  });
});

test("counts repetitions, and a node has no namespace", () => {
  const object = { kind: "Node", name: "pi-1" };
  expect(wire({ count: 7, object })).toMatchObject({ count: 7, object });
});

test("cuts the message to 256 bytes without control characters", () => {
  const { message } = wire({ message: `\u001b[2J${"ä".repeat(1_000)}` }) as { message: string };
  expect(message).toStartWith("[2Jä");
  expect(message).toEndWith("…");
  expect(byteLength(message)).toBeLessThanOrEqual(256);
});

test("becomes one of a batch, under the number of its row", () => {
  const row = { kind: "event", topic: "t", qos: 1, retain: false } as const;
  const rows = [41, 42].map((id) => ({ ...row, id, payload: eventPayload(EVENT, "boot-1") }));
  const [packet] = packetsOf(rows, { incarnation: "cafe", session: 5 });
  expect(JSON.parse(new TextDecoder().decode(packet?.message.payload))).toMatchObject({
    incarnation: "cafe",
    session: 5,
    events: [{ n: 41, reason: "Unhealthy" }, { n: 42 }],
  });
});

test("a gap is a warning of the node", () => {
  expect(gapEvent({ Normal: 12, Warning: 1 }, "pi-1")).toEqual({
    type: "Warning",
    reason: "EventsDropped",
    object: { kind: "Node", name: "pi-1" },
    message: "12 Normal and 1 Warning events were dropped before they were published",
  });
});
