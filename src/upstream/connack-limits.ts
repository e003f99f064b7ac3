// The broker's limits of CONNACK: Receive Maximum, Maximum QoS, Retain Available, Maximum Packet Size.

import { byteLength } from "../lib/short-text.ts";
import type { ConnectAck, MqttMessage } from "../mqtt/mqtt-link.ts";

/** Most messages in flight, if the broker permits more. */
const WINDOW = 20;
/** Most bytes of a PUBLISH besides topic and payload: header, length, packet id, properties. */
export const OVERHEAD_BYTES = 16;

/** Most messages in flight. One place of the broker's Receive Maximum is kept for birth, which is not in the outbox. */
export function publishWindow({ receiveMaximum }: Pick<ConnectAck, "receiveMaximum">): number {
  return Math.max(1, Math.min(WINDOW, receiveMaximum - 1));
}

/** The message with the QoS and retain flag that this broker supports. */
export function allowed(message: MqttMessage, ack: ConnectAck): MqttMessage {
  const qos = ack.maximumQos === 0 ? 0 : message.qos;
  return { ...message, qos, retain: message.retain && ack.retainAvailable };
}

/** Bytes by which the broker's Maximum Packet Size is exceeded; 0 = it fits. */
export function excess(message: MqttMessage, ack: ConnectAck): number {
  if (ack.maximumPacketSize === undefined) return 0;
  const { topic, payload, correlationData } = message;
  const written = byteLength(topic) + payload.length;
  const bytes = written + (correlationData?.length ?? 0) + OVERHEAD_BYTES;
  return Math.max(0, bytes - ack.maximumPacketSize);
}
