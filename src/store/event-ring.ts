// Events that wait for the broker: gathered in memory, committed together, the oldest dropped when there are too many.

import type { Database, Query } from "./database.ts";
import type { Meta } from "./meta.ts";

export type EventType = "Normal" | "Warning";

export interface OutboxEvent {
  readonly type: EventType;
  readonly topic: string;
  readonly payload: Uint8Array;
}

/** Most events kept of each type. */
export type EventCaps = Readonly<Record<EventType, number>>;
export type DroppedEvents = Readonly<Record<EventType, number>>;

export interface EventRingOptions {
  readonly database: Database;
  readonly meta: Meta;
  readonly caps?: EventCaps;
}

const DEFAULT_CAPS: EventCaps = { Normal: 5_000, Warning: 5_000 };
/** Warnings are sent before pod topics, Normal events among the rest. */
const EVENT_RANK: Readonly<Record<EventType, number>> = { Warning: 2, Normal: 3 };
const TYPES: readonly EventType[] = ["Normal", "Warning"];

export class EventRing {
  readonly #database: Database;
  readonly #meta: Meta;
  readonly #caps: EventCaps;
  readonly #buffers: Readonly<Record<EventType, OutboxEvent[]>> = { Normal: [], Warning: [] };
  /** Rows in the table. */
  readonly #kept: Record<EventType, number> = { Normal: 0, Warning: 0 };
  /** Dropped from a buffer, not yet written down. */
  readonly #overflow: Record<EventType, number> = { Normal: 0, Warning: 0 };
  readonly #insert: Query<[number, string, Uint8Array], unknown>;
  readonly #deleteOldest: Query<[number, number], unknown>;

  constructor({ database, meta, caps }: EventRingOptions) {
    this.#database = database;
    this.#meta = meta;
    this.#caps = caps ?? DEFAULT_CAPS;
    this.#insert = database.query(
      `INSERT INTO outbox (rank, kind, topic, payload, qos, retain, content) VALUES (?, 'event', ?, ?, 1, 0, '')`,
    );
    this.#deleteOldest = database.query(
      `DELETE FROM outbox WHERE id IN
         (SELECT id FROM outbox WHERE rank = ? AND kind = 'event' ORDER BY id LIMIT ?)`,
    );
    const count = database.query<[number], { readonly n: number }>(
      "SELECT count(*) AS n FROM outbox WHERE rank = ? AND kind = 'event'",
    );
    for (const type of TYPES) this.#kept[type] = count.get(EVENT_RANK[type])?.n ?? 0;
  }

  add(event: OutboxEvent): void {
    const buffer = this.#buffers[event.type];
    buffer.push(event);
    if (buffer.length <= this.#caps[event.type]) return;
    buffer.shift();
    this.#overflow[event.type] += 1;
  }

  flush(): boolean {
    if (TYPES.every((type) => this.#buffers[type].length === 0)) return false;
    const kept = this.#database.transaction(() => ({
      Normal: this.#flushType("Normal"),
      Warning: this.#flushType("Warning"),
    }));
    for (const type of TYPES) {
      this.#kept[type] = kept[type];
      this.#buffers[type].length = 0;
      this.#overflow[type] = 0;
    }
    return true;
  }

  /** How many rows of this type there are afterwards. */
  #flushType(type: EventType): number {
    const buffer = this.#buffers[type];
    for (const { topic, payload } of buffer) this.#insert.run(EVENT_RANK[type], topic, payload);
    const surplus = Math.max(0, this.#kept[type] + buffer.length - this.#caps[type]);
    const deleted = surplus > 0 ? this.#deleteOldest.run(EVENT_RANK[type], surplus) : 0;
    const dropped = surplus + this.#overflow[type];
    if (dropped > 0) this.#meta.set(droppedKey(type), String(this.#droppedOf(type) + dropped));
    return this.#kept[type] + buffer.length - deleted;
  }

  /** A row of this rank was acknowledged and is gone. */
  left(rank: number): void {
    const type: EventType = rank === EVENT_RANK.Warning ? "Warning" : "Normal";
    this.#kept[type] = Math.max(0, this.#kept[type] - 1);
  }

  dropped(): DroppedEvents {
    return { Normal: this.#droppedOf("Normal"), Warning: this.#droppedOf("Warning") };
  }

  forgetDropped(): void {
    for (const type of TYPES) this.#meta.remove(droppedKey(type));
  }

  #droppedOf(type: EventType): number {
    return Number(this.#meta.get(droppedKey(type)) ?? 0);
  }
}

function droppedKey(type: EventType): string {
  return `events.dropped.${type}`;
}
