// Decides what one PUBLISH contains: one row of the outbox, or a batch of events.

import type { MqttMessage } from "../mqtt/mqtt-link.ts";
import { jsonBytes } from "../protocol/wire-text.ts";
import type { EventOrigin } from "./report/event-batch.ts";
import type { OutboxRow } from "../store/outbox/outbox.ts";
import { parseJson, isJsonObject } from "../lib/json.ts";
import { OVERHEAD_BYTES } from "./connack-limits.ts";

/** One PUBLISH and the rows it settles. */
export interface Packet {
  readonly message: MqttMessage;
  readonly ids: readonly number[];
}

/** Largest payload in bytes that joins several events. */
const MAX_BATCH_BYTES = 16 * 1024;
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

/** Whether the event in `row` joins the batch; `limit` is the broker's Maximum Packet Size. */
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
