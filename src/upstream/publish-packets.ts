// Decides what one PUBLISH contains: one row of the outbox as the broker accepts it, or several events.

import type { ConnectAck, MqttMessage } from "../mqtt/mqtt-link.ts";
import { jsonBytes } from "../protocol/wire-text.ts";
import type { EventOrigin } from "./report/event-batch.ts";
import type { OutboxRow } from "../store/outbox/outbox.ts";
import { parseJson, isJsonObject } from "../lib/json.ts";
import { byteLength } from "../lib/short-text.ts";

/** One PUBLISH and the rows it settles. */
export interface Packet {
  readonly message: MqttMessage;
  readonly ids: readonly number[];
}

/** Largest payload in bytes that joins several events. */
const MAX_BATCH_BYTES = 16 * 1024;
/** Most bytes of a PUBLISH besides topic and payload: header, length, packet id, properties. */
const OVERHEAD_BYTES = 16;

/** Bytes of a batch beside its events, and beside each event. */
const BATCH_BYTES = 128;
const EVENT_BYTES = 32;

/**
 * Packets in the order of the rows. Consecutive events of one topic share a packet, as many as fit the broker's Maximum
 * Packet Size (undefined = no limit).
 */
export function packetsOf(
  rows: readonly OutboxRow[],
  origin: EventOrigin,
  maximumPacketSize?: number,
): readonly Packet[] {
  const packets: Packet[] = [];
  let batch: OutboxRow[] = [];
  const flush = (): void => {
    if (batch.length > 0) packets.push(eventPacket(batch, origin));
    batch = [];
  };
  for (const row of rows) {
    if (!joins(batch, row, maximumPacketSize)) flush();
    if (row.kind === "event") batch.push(row);
    else packets.push(plainPacket(row));
  }
  flush();
  return packets;
}

function joins(batch: readonly OutboxRow[], row: OutboxRow, limit = Infinity): boolean {
  if (row.kind !== "event" || batch[0]?.topic !== row.topic) return false;
  const room = Math.min(MAX_BATCH_BYTES, limit - row.topic.length - OVERHEAD_BYTES - BATCH_BYTES);
  const bytes = [...batch, row].reduce((sum, { payload }) => sum + payload.length + EVENT_BYTES, 0);
  return bytes <= room;
}

function plainPacket({ id, topic, payload, qos, retain, correlation }: OutboxRow): Packet {
  const message = { topic, payload, qos, retain };
  if (correlation === undefined) return { message, ids: [id] };
  return { message: { ...message, correlationData: correlation }, ids: [id] };
}

function eventPacket(rows: readonly OutboxRow[], origin: EventOrigin): Packet {
  const { topic = "", qos = 1 } = rows[0] ?? {};
  const events = rows.map(({ id, payload }) => eventOf(id, payload));
  const message = { topic, payload: jsonBytes({ ...origin, events }), qos, retain: false };
  return { message, ids: rows.map(({ id }) => id) };
}

/** A damaged row still counts as an event, so that numbers have no hole. */
function eventOf(n: number, payload: Uint8Array): object {
  const event = parseJson(payload);
  return isJsonObject(event) ? { n, ...event } : { n };
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
