// What happened lately, for people: a small bounded memory in which repetitions are counted. kubelet: event recorder

import type { EventObject, NewEvent, RecordedEvent } from "../api/events.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

export interface EventsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** How many different events are kept; default 500. */
  readonly capacity?: number;
}

const CAPACITY = 500;

export class Events {
  /** In the order of their last occurrence. */
  readonly #events = new Map<string, RecordedEvent>();
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #capacity: number;

  constructor(options: EventsOptions) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#capacity = options.capacity ?? CAPACITY;
  }

  /** Remembers and logs an event; one that is remembered already only counts on. */
  record(event: NewEvent): void {
    const key = keyOf(event);
    const now = this.#clock.now();
    const before = this.#events.get(key);
    this.#events.delete(key);
    this.#events.set(key, {
      ...event,
      count: (before?.count ?? 0) + 1,
      first: before?.first ?? now,
      last: now,
    });
    if (this.#events.size > this.#capacity) this.#dropOldest();
    this.#write(event);
  }

  /** Oldest occurrence first; of one object where one is given. */
  list(object?: EventObject): readonly RecordedEvent[] {
    const all = [...this.#events.values()];
    if (object === undefined) return all;
    const wanted = objectKey(object);
    return all.filter((event) => objectKey(event.object) === wanted);
  }

  #dropOldest(): void {
    const [oldest] = this.#events.keys();
    if (oldest !== undefined) this.#events.delete(oldest);
  }

  #write({ type, reason, object, message }: NewEvent): void {
    const fields = { reason, object: objectName(object), message };
    switch (type) {
      case "Normal":
        return this.#log.info("event", fields);
      case "Warning":
        return this.#log.warn("event", fields);
    }
  }
}

function keyOf({ type, reason, object, message }: NewEvent): string {
  return JSON.stringify([type, reason, objectKey(object), message]);
}

function objectKey({ kind, namespace, name }: EventObject): string {
  return JSON.stringify([kind, namespace ?? "", name]);
}

function objectName({ kind, namespace, name }: EventObject): string {
  const word = kind.toLowerCase();
  return namespace === undefined ? `${word}/${name}` : `${word}/${namespace}/${name}`;
}
