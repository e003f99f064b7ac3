// Performs: events that wait for the broker: collected in memory, committed together, the oldest dropped above a cap.
// The id of a row is the number of its event. Numbers are reserved on the disk before they are used: a power cut may
// lose rows that the broker has received, and their numbers must not be reused for other events.

import type { EventType } from "../../api/v1/events.ts";
import type { Database, Query } from "../sqlite/database.ts";
import type { Meta } from "../meta.ts";

export interface OutboxEvent {
  readonly type: EventType;
  readonly topic: string;
  readonly payload: Uint8Array;
}

/** Events kept of each type. */
export type EventCaps = Readonly<Record<EventType, number>>;
export type DroppedEvents = Readonly<Record<EventType, number>>;

interface EventRingOptions {
  readonly database: Database;
  readonly meta: Meta;
  readonly caps?: EventCaps;
}

/** How many numbers a write reserves beyond those in use. */
const RESERVED_AT_ONCE = 1_000;
const RESERVED_KEY = "event.reserved";
const DEFAULT_CAPS: EventCaps = { Normal: 5_000, Warning: 5_000 };
/** Rank of sending: Warnings before pod topics, Normal events with the rest. */
const EVENT_RANK: Readonly<Record<EventType, number>> = { Warning: 2, Normal: 3 };
const TYPES: readonly EventType[] = ["Normal", "Warning"];

interface Waiting {
  readonly event: OutboxEvent;
  /** Events are numbered in the order of adding. */
  readonly order: number;
}

export class EventRing {
  readonly #database: Database;
  readonly #meta: Meta;
  readonly #caps: EventCaps;
  readonly #buffers: Readonly<Record<EventType, Waiting[]>> = { Normal: [], Warning: [] };
  #added = 0;
  /** Rows in the table. */
  readonly #kept: Record<EventType, number> = { Normal: 0, Warning: 0 };
  /** Dropped from a buffer, not yet stored. */
  readonly #overflow: Record<EventType, number> = { Normal: 0, Warning: 0 };
  /** Dropped since this process began, and stored. */
  readonly #lost: Record<EventType, number> = { Normal: 0, Warning: 0 };
  /** Numbers up to here may be in use: the first flush of a process continues after them. */
  #reserved: number;
  #isFirstFlush = true;
  readonly #insert: Query<[number, number, string, Uint8Array], unknown>;
  readonly #sequence: Query<[], { readonly seq: number }>;
  readonly #deleteOldest: Query<[number, number], unknown>;

  constructor({ database, meta, caps }: EventRingOptions) {
    this.#database = database;
    this.#meta = meta;
    this.#caps = caps ?? DEFAULT_CAPS;
    this.#reserved = Number(meta.get(RESERVED_KEY) ?? 0);
    this.#insert = database.query(
      `INSERT INTO outbox (id, rank, kind, topic, payload, qos, retain, content)
         VALUES (?, ?, 'event', ?, ?, 1, 0, '')`,
    );
    // The largest id of any row ever, deleted ones included.
    this.#sequence = database.query("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'");
    this.#deleteOldest = database.query(
      `DELETE FROM outbox WHERE id IN
         (SELECT id FROM outbox WHERE rank = ? AND kind = 'event' ORDER BY id LIMIT ?)`,
    );
    const count = database.query<[number], { readonly n: number }>(
      "SELECT count(*) AS n FROM outbox WHERE rank = ? AND kind = 'event'",
    );
    for (const type of TYPES) this.#kept[type] = count.get(EVENT_RANK[type])?.n ?? 0;
  }

  /** Kept in memory until `flush`. `payload` is the JSON of one event without `n`. */
  add(event: OutboxEvent): void {
    const buffer = this.#buffers[event.type];
    this.#added += 1;
    buffer.push({ event, order: this.#added });
    if (buffer.length <= this.#caps[event.type]) return;
    buffer.shift();
    this.#overflow[event.type] += 1;
  }

  /** One transaction for all events since the last one; true when there were some. Throws when the disk is full; may be called again. */
  flush(): boolean {
    const waiting = [...this.#buffers.Normal, ...this.#buffers.Warning];
    if (waiting.length === 0) return false;
    const events = waiting.toSorted((a, b) => a.order - b.order).map(({ event }) => event);
    const kept = this.#numbered(events.length, (first) => {
      events.forEach(({ type, topic, payload }, index) =>
        this.#insert.run(first + index, EVENT_RANK[type], topic, payload),
      );
      return { Normal: this.#trim("Normal"), Warning: this.#trim("Warning") };
    });
    for (const type of TYPES) {
      const surplus = this.#kept[type] + this.#buffers[type].length - this.#caps[type];
      this.#lost[type] += Math.max(0, surplus) + this.#overflow[type];
      this.#kept[type] = kept[type];
      this.#buffers[type].length = 0;
      this.#overflow[type] = 0;
    }
    return true;
  }

  /** If events were dropped: adds the event that `describe` makes of the counts, and resets them, in one transaction. True when there were some. */
  settleDropped(describe: (dropped: DroppedEvents) => OutboxEvent): boolean {
    const dropped = this.dropped();
    if (TYPES.every((type) => dropped[type] === 0)) return false;
    const { type, topic, payload } = describe(dropped);
    this.#numbered(1, (first) => {
      for (const each of TYPES) this.#meta.remove(droppedKey(each));
      this.#insert.run(first, EVENT_RANK[type], topic, payload);
    });
    this.#kept[type] += 1;
    return true;
  }

  /** Runs `write` in one transaction; it may use `count` numbers from `first` on. */
  #numbered<T>(count: number, write: (first: number) => T): T {
    const last = Math.max(this.#sequence.get()?.seq ?? 0, this.#isFirstFlush ? this.#reserved : 0);
    const isEnough = last + count <= this.#reserved;
    const reserved = isEnough ? this.#reserved : last + count + RESERVED_AT_ONCE;
    const result = this.#database.transaction(
      () => {
        if (!isEnough) this.#meta.set(RESERVED_KEY, String(reserved), "full");
        return write(last + 1);
      },
      isEnough ? "normal" : "full",
    );
    this.#reserved = reserved;
    this.#isFirstFlush = false;
    return result;
  }

  /** Deletes the oldest rows above the cap and counts them as dropped; returns how many rows are left. */
  #trim(type: EventType): number {
    const buffer = this.#buffers[type];
    const surplus = Math.max(0, this.#kept[type] + buffer.length - this.#caps[type]);
    const deleted = surplus > 0 ? this.#deleteOldest.run(EVENT_RANK[type], surplus) : 0;
    const dropped = surplus + this.#overflow[type];
    if (dropped > 0) this.#meta.set(droppedKey(type), String(this.#droppedOf(type) + dropped));
    return this.#kept[type] + buffer.length - deleted;
  }

  /** A row of this rank was acknowledged and deleted. */
  acknowledged(rank: number): void {
    const type: EventType = rank === EVENT_RANK.Warning ? "Warning" : "Normal";
    this.#kept[type] = Math.max(0, this.#kept[type] - 1);
  }

  /** Since `settleDropped`. */
  dropped(): DroppedEvents {
    return { Normal: this.#droppedOf("Normal"), Warning: this.#droppedOf("Warning") };
  }

  /** Since this process began. */
  lost(type: EventType): number {
    return this.#lost[type] + this.#overflow[type];
  }

  #droppedOf(type: EventType): number {
    return Number(this.#meta.get(droppedKey(type)) ?? 0);
  }
}

function droppedKey(type: EventType): string {
  return `events.dropped.${type}`;
}
