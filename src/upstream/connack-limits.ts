// The broker's limits of CONNACK: Receive Maximum, Maximum QoS, Retain Available, Maximum Packet Size.

import { byteLength } from "../lib/short-text.ts";
import type { ConnectAck, MqttMessage } from "../mqtt/mqtt-link.ts";
import type { OutboxRow } from "../store/outbox/outbox.ts";

/** Most messages in flight, if the broker permits more. */
const WINDOW = 20;
/** Largest payload in bytes that joins several events. */
const MAX_BATCH_BYTES = 16 * 1024;
/** Most bytes of a PUBLISH besides topic and payload: header, length, packet id, properties. */
const OVERHEAD_BYTES = 16;

/** Bytes of a batch beside its events, and beside each event. */
const BATCH_BYTES = 128;
const EVENT_BYTES = 32;

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

/** Whether the event in `row` joins the batch; `limit` is the broker's Maximum Packet Size. */
export function joins(batch: readonly OutboxRow[], row: OutboxRow, limit = Infinity): boolean {
  if (row.kind !== "event" || batch[0]?.topic !== row.topic) return false;
  const room = Math.min(MAX_BATCH_BYTES, limit - row.topic.length - OVERHEAD_BYTES - BATCH_BYTES);
  const bytes = [...batch, row].reduce((sum, { payload }) => sum + payload.length + EVENT_BYTES, 0);
  return bytes <= room;
}
