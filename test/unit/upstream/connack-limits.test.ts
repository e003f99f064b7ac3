import { expect, test } from "bun:test";

import type { ConnectAck } from "../../../src/mqtt/mqtt-link.ts";
import { allowed, excess, publishWindow } from "../../../src/upstream/connack-limits.ts";

const ACK: ConnectAck = {
  sessionPresent: false,
  receiveMaximum: 20,
  maximumQos: 2,
  retainAvailable: true,
  maximumPacketSize: undefined,
  protocolVersion: 5,
};

test("obeys Maximum QoS and Retain Available", () => {
  const message = { topic: "t", payload: new Uint8Array(), qos: 1, retain: true } as const;
  expect(allowed(message, ACK)).toEqual(message);
  expect(allowed(message, { ...ACK, maximumQos: 0, retainAvailable: false })).toEqual({
    ...message,
    qos: 0,
    retain: false,
  });
});

test("measures what is over the Maximum Packet Size", () => {
  const message = { topic: "t", payload: new Uint8Array(100), qos: 1, retain: true } as const;
  expect(excess(message, ACK)).toBe(0);
  expect(excess(message, { ...ACK, maximumPacketSize: 117 })).toBe(0);
  expect(excess(message, { ...ACK, maximumPacketSize: 110 })).toBe(7);
});

test("keeps one place of the Receive Maximum for birth, and sends at most 20 at once", () => {
  const windows = [1, 2, 10, 65_535].map((receiveMaximum) => publishWindow({ receiveMaximum }));
  expect(windows).toEqual([1, 1, 9, 20]);
});
