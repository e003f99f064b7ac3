import { expect, test } from "bun:test";

import type { ConnectAck } from "../../../../src/mqtt/mqtt-link.ts";
import {
  allowedBy,
  lowered,
  willWithin,
  type ConnectLimits,
} from "../../../../src/upstream/link/connect-fallback.ts";

const ALL: ConnectLimits = { protocolVersion: 5, willRetain: true, willQos: 1 };
const NOTHING: ConnectLimits = { protocolVersion: 4, willRetain: false, willQos: 0 };
const ACK: ConnectAck = {
  sessionPresent: false,
  receiveMaximum: 65_535,
  maximumQos: 2,
  retainAvailable: true,
  maximumPacketSize: undefined,
  protocolVersion: 5,
};
const WILL = { topic: "state", payload: new Uint8Array(), qos: 1, retain: true } as const;

test.each([
  ["ProtocolUnsupported", { ...ALL, protocolVersion: 4 }],
  ["RetainUnsupported", { ...ALL, willRetain: false }],
  ["QosUnsupported", { ...ALL, willQos: 0 }],
] as const)("%s asks for less, once", (reason, expected) => {
  expect(lowered(ALL, reason)).toEqual(expected);
  expect(lowered(NOTHING, reason)).toBeUndefined();
});

test.each(["ConnectRefused", "ConnectFailed", "FileError", ""])("%s changes nothing", (reason) => {
  expect(lowered(ALL, reason)).toBeUndefined();
});

test("what CONNACK allows may be asked for again, the protocol version not", () => {
  expect(allowedBy(NOTHING, ACK)).toEqual({ ...ALL, protocolVersion: 4 });
  const strict = { ...ACK, maximumQos: 0, retainAvailable: false } as const;
  expect(allowedBy(NOTHING, strict)).toEqual(NOTHING);
});

test("the will stays within the limits", () => {
  expect(willWithin(WILL, ALL)).toEqual(WILL);
  expect(willWithin(WILL, NOTHING)).toEqual({ ...WILL, qos: 0, retain: false });
});
