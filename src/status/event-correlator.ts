// Performs: keeps and logs recent events, in a bounded memory in which repetitions are counted.
// kubelet: event recorder; client-go: EventCorrelator, EventSourceObjectSpamFilter

import type { EventObject, NewEvent, RecordedEvent } from "../api/v1/events.ts";
import type { Edges } from "../edges.ts";
import type { Monotonic } from "../lib/clock.ts";
import { takeToken, type TokenBucket, type TokenBucketPolicy } from "../lib/token-bucket.ts";

interface EventsOptions extends Pick<Edges, "clock" | "log"> {
  /** How many different events are kept; default 500. */
  readonly capacity?: number;
  /** Every event that is kept, and every repetition of one. Must not throw. */
  readonly onRecorded?: (event: RecordedEvent) => void;
}

interface Kept {
  readonly event: RecordedEvent;
  /** Equal for repetitions. */
  readonly key: string;
  /** Equal for events that differ only in their message. */
  readonly similar: string;
  /** Of its last occurrence. */
  readonly at: Monotonic;
}

const CAPACITY = 500;
/** Share of the capacity in which old Warnings do not displace new Normal events. */
const NORMAL_SHARE = 0.2;
/** Different messages of one reason and object within `SIMILAR_MS`; further ones are combined in one event. */
const MAX_SIMILAR = 10;
const SIMILAR_MS = 600_000;
const COMBINED = "(combined from similar events): ";
/** In UTF-16 units. kubelet's API allows 1 kB. */
const MAX_MESSAGE = 1024;
/** How many different events one object may have: a burst, then one every five minutes. */
export const EVENT_BUDGET: TokenBucketPolicy = { burst: 25, perSecond: 1 / 300 };
/** Objects whose budgets are kept; the one that recorded an event the longest ago is forgotten first. */
const MAX_BUDGETS = 1_000;

export class Events {
  readonly #options: EventsOptions;
  readonly #capacity: number;
  /** In the order of their last occurrence. */
  readonly #kept = new Map<string, Kept>();
  /** In the order of their last use. */
  readonly #budgets = new Map<string, TokenBucket>();
  #normals = 0;
  #lastId = 0;

  constructor(options: EventsOptions) {
    this.#options = options;
    this.#capacity = options.capacity ?? CAPACITY;
  }

  /**
   * Stores and logs an event; a repetition only increases its count. Too many different events of one object are
   * combined, then dropped.
   */
  record(recorded: NewEvent): void {
    const event = { ...recorded, message: shortened(recorded.message) };
    const own = keyOf(event);
    const known = this.#kept.get(own);
    if (known !== undefined) return this.#keep(known, event);
    const similar = similarKey(event);
    if (!this.#isCrowded(similar)) return this.#begin({ key: own, similar }, event);
    const message = shortened(COMBINED + event.message);
    const combined = this.#kept.get(similar);
    if (combined !== undefined) return this.#keep(combined, { ...event, message });
    return this.#begin({ key: similar, similar }, { ...event, message });
  }

  /** Oldest occurrence first; `object`: only its events, whatever its uid. */
  list(object?: EventObject): readonly RecordedEvent[] {
    const all = [...this.#kept.values()].map(({ event }) => event);
    if (object === undefined) return all;
    const wanted = nameKey(object);
    return all.filter((event) => nameKey(event.object) === wanted);
  }

  #isCrowded(similar: string): boolean {
    const since = this.#options.clock.monotonic() - SIMILAR_MS;
    let fresh = 0;
    for (const one of this.#kept.values())
      if (one.similar === similar && one.key !== similar && one.at > since) fresh += 1;
    return fresh >= MAX_SIMILAR;
  }

  #begin(keys: Pick<Kept, "key" | "similar">, event: NewEvent): void {
    const { clock, log } = this.#options;
    if (!this.#mayAdd(event.object))
      return log.debug("event dropped: too many events of one object", about(event));
    this.#lastId += 1;
    const now = clock.now();
    const recorded = { ...event, id: this.#lastId, count: 1, first: now, last: now };
    this.#put({ ...keys, event: recorded, at: clock.monotonic() });
    if (event.type === "Normal") this.#normals += 1;
    if (this.#kept.size > this.#capacity) this.#dropOldest();
    this.#write(event);
    this.#options.onRecorded?.(recorded);
  }

  #keep({ event: before, key, similar }: Kept, { message }: NewEvent): void {
    const { clock, log } = this.#options;
    const event = { ...before, message, count: before.count + 1, last: clock.now() };
    this.#put({ key, similar, event, at: clock.monotonic() });
    log.debug("event repeated", { ...about(event), count: event.count });
    this.#options.onRecorded?.(event);
  }

  /** Stores as the newest. */
  #put(kept: Kept): void {
    this.#kept.delete(kept.key);
    this.#kept.set(kept.key, kept);
  }

  /** Normal events first while they exceed their share. */
  #dropOldest(): void {
    const all = [...this.#kept.values()];
    const isNormal = this.#normals > Math.floor(this.#capacity * NORMAL_SHARE);
    const type = isNormal ? "Normal" : "Warning";
    const oldest = all.find(({ event }) => event.type === type);
    if (oldest === undefined) return;
    this.#kept.delete(oldest.key);
    if (isNormal) this.#normals -= 1;
  }

  #mayAdd(object: EventObject): boolean {
    const key = lifeKey(object);
    const now = this.#options.clock.monotonic();
    const after = takeToken(this.#budgets.get(key), now, EVENT_BUDGET);
    if (after === undefined) return false;
    this.#budgets.delete(key);
    this.#budgets.set(key, after);
    const [oldest] = this.#budgets.keys();
    if (this.#budgets.size > MAX_BUDGETS && oldest !== undefined) this.#budgets.delete(oldest);
    return true;
  }

  #write(event: NewEvent): void {
    switch (event.type) {
      case "Normal":
        return this.#options.log.info("event", about(event));
      case "Warning":
        return this.#options.log.warn("event", about(event));
    }
  }
}

function keyOf(event: NewEvent): string {
  return JSON.stringify([similarKey(event), event.message]);
}

function similarKey({ type, reason, object }: NewEvent): string {
  return JSON.stringify([type, reason, lifeKey(object), object.fieldPath ?? ""]);
}

function lifeKey(object: EventObject): string {
  return JSON.stringify([nameKey(object), object.uid ?? ""]);
}

function nameKey({ kind, namespace, name }: EventObject): string {
  return JSON.stringify([kind, namespace ?? "", name]);
}

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE - 1)}…`;
}

function about({ reason, object, message }: NewEvent): Record<string, string> {
  return { reason, object: objectName(object), message };
}

function objectName({ kind, namespace, name }: EventObject): string {
  const word = kind.toLowerCase();
  return namespace === undefined ? `${word}/${name}` : `${word}/${namespace}/${name}`;
}
