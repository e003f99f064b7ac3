import { expect, test } from "bun:test";
import fc from "fast-check";

import type { ConnectAck } from "../../../src/mqtt/mqtt-link.ts";
import type { OutboxRow } from "../../../src/store/outbox/outbox.ts";
import { excess } from "../../../src/upstream/connack-limits.ts";
import { packetsOf } from "../../../src/upstream/publish-packets.ts";

const origin = { incarnation: "cafe", session: 7 };
const ACK: ConnectAck = {
  sessionPresent: false,
  receiveMaximum: 20,
  maximumQos: 2,
  retainAvailable: true,
  maximumPacketSize: undefined,
  protocolVersion: 5,
};

function row(id: number, kind: OutboxRow["kind"], text: string): OutboxRow {
  const payload = new TextEncoder().encode(text);
  return { id, kind, topic: kind, payload, qos: 1, retain: kind !== "event" };
}

function text(payload: Uint8Array): string {
  return new TextDecoder().decode(payload);
}

test("joins consecutive events into one batch with their numbers, and keeps the order of the rest", () => {
  const rows = [
    row(3, "reported", "{}"),
    row(1, "event", '{"reason":"A"}'),
    row(2, "event", '{"reason":"B"}'),
    row(4, "pod", "p"),
    row(5, "event", '{"reason":"C"}'),
  ];
  const packets = packetsOf(rows, origin);
  expect(packets.map(({ ids }) => ids)).toEqual([[3], [1, 2], [4], [5]]);
  expect(packets[1]?.message.retain).toBe(false);
  expect(JSON.parse(text(packets[1]?.message.payload ?? new Uint8Array()))).toEqual({
    incarnation: "cafe",
    session: 7,
    events: [
      { n: 1, reason: "A" },
      { n: 2, reason: "B" },
    ],
  });
});

test("begins a new batch at 16 KiB", () => {
  const event = JSON.stringify({ message: "x".repeat(7000) });
  const rows = [1, 2, 3].map((id) => row(id, "event", event));
  expect(packetsOf(rows, origin).map(({ ids }) => ids)).toEqual([[1, 2], [3]]);
});

test("joins no more events than the broker's Maximum Packet Size has room for", () => {
  const events = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(events, fc.integer({ min: 600, max: 8_000 }), (sizes, maximumPacketSize) => {
      const rows = sizes.map((size, at) =>
        row(at + 1_000_000, "event", JSON.stringify({ message: "x".repeat(size) })),
      );
      const packets = packetsOf(rows, origin, maximumPacketSize);
      expect(packets.flatMap(({ ids }) => ids)).toEqual(rows.map(({ id }) => id));
      for (const { message } of packets)
        expect(excess(message, { ...ACK, maximumPacketSize })).toBe(0);
    }),
  );
});

test("keeps the number of an event whose row is damaged", () => {
  const [packet] = packetsOf([row(9, "event", "{oops")], origin);
  expect(JSON.parse(text(packet?.message.payload ?? new Uint8Array()))).toMatchObject({
    events: [{ n: 9 }],
  });
});
