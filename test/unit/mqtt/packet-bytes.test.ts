import { describe, expect, test } from "bun:test";
import type { Packet } from "mqtt";
import { generate } from "mqtt-packet";

import type { ConnectOptions } from "../../../src/mqtt/mqtt-link.ts";
import { connectSize, receivedSize, sentSize } from "../../../src/mqtt/packet-bytes.ts";
import { connectPacket } from "../../fakes/measured-link.ts";

const TOPIC = "agent/v1/node/pi-1/reported";

function publish(bytes: number, qos: 0 | 1): Packet {
  const payload = Buffer.alloc(bytes);
  const packet = { cmd: "publish", topic: TOPIC, payload, qos, retain: true, dup: false } as const;
  return qos === 0 ? packet : { ...packet, messageId: 7 };
}

const SENT: readonly (readonly [string, Packet])[] = [
  ["a message of QoS 1", publish(100, 1)],
  ["a message of QoS 0", publish(10, 0)],
  ["a longer message", publish(200, 1)],
  ["a long message", publish(40_000, 1)],
  ["a clearing message", publish(0, 1)],
  ["SUBSCRIBE", { cmd: "subscribe", messageId: 1, subscriptions: [{ topic: TOPIC, qos: 1 }] }],
  ["UNSUBSCRIBE", { cmd: "unsubscribe", messageId: 1, unsubscriptions: [TOPIC, "é"] }],
  ["PUBACK", { cmd: "puback", messageId: 1, reasonCode: 0 }],
  ["PUBACK of a refusal", { cmd: "puback", messageId: 1, reasonCode: 0x87 }],
  ["PINGREQ", { cmd: "pingreq" }],
  ["DISCONNECT", { cmd: "disconnect", reasonCode: 0 }],
];

describe.each([4, 5] as const)("of protocol %d", (protocolVersion) => {
  test.each(SENT)("%s is counted as it is encoded", (_, packet) => {
    const { bytes, direction } = sentSize(packet, protocolVersion);
    expect(bytes).toBe(generate(packet, { protocolVersion }).length);
    expect(direction).toBe("out");
  });

  test.each([{}, { username: "pi", password: "päss" }])("CONNECT with %p too", (more) => {
    const options: ConnectOptions = {
      url: "mqtt://broker",
      clientId: "pi-1",
      protocolVersion,
      keepAliveSeconds: 60,
      sessionExpirySeconds: 60,
      connectTimeoutMs: 1000,
      will: { topic: TOPIC, payload: new Uint8Array(80), qos: 1, retain: true, delaySeconds: 30 },
      ...more,
    };
    const { bytes } = connectSize(options);
    expect(bytes).toBe(generate(connectPacket(options), { protocolVersion }).length);
  });
});

test("an incoming packet is as long as its length field states", () => {
  const packet: Packet = { ...publish(200, 1), length: 234 };
  expect(receivedSize(packet)).toEqual({ direction: "in", bytes: 237, topic: TOPIC });
  expect(receivedSize({ cmd: "pingresp", length: 0 })).toEqual({ direction: "in", bytes: 2 });
});
