// Performs: who this database is, and numbers that never come twice inside it (MQTT.md §4).

import type { Random } from "../lib/random.ts";
import type { Meta } from "./meta.ts";

/** Numbers taken per write; what is left of them at the end of the process is skipped. */
const RESERVED_AT_ONCE = 100;

export class Incarnation {
  /** Random, made with the database: sessions, seq and event numbers compare only inside one. */
  readonly id: string;
  readonly #session: Counter;
  readonly #seq: Counter;

  constructor(meta: Meta, random: Random) {
    const known = meta.get("incarnation");
    this.id = known ?? random.hex(8);
    if (known === undefined) {
      meta.set("session.reserved", String(firstSession(this.id)), "full");
      meta.set("incarnation", this.id, "full");
    }
    this.#session = new Counter(meta, "session.reserved");
    this.#seq = new Counter(meta, "seq.reserved");
  }

  /** Only grows: one per connection to the broker. */
  nextSession(): number {
    return this.#session.next();
  }

  /** 1, 2, 3 …: one per report. */
  nextSeq(): number {
    return this.#seq.next();
  }
}

/** Signed commands name a session: one that a lost database had must not come again with the next. */
function firstSession(incarnation: string): number {
  return Number.parseInt(incarnation.slice(0, 7), 16) * RESERVED_AT_ONCE;
}

/** Written once per hundred; a restart jumps to the next hundred. */
class Counter {
  readonly #meta: Meta;
  readonly #key: string;
  #last: number;
  #reserved: number;

  constructor(meta: Meta, key: string) {
    this.#meta = meta;
    this.#key = key;
    this.#reserved = Number(meta.get(key) ?? 0);
    this.#last = this.#reserved;
  }

  next(): number {
    if (this.#last === this.#reserved) {
      const reserved = this.#reserved + RESERVED_AT_ONCE;
      this.#meta.set(this.#key, String(reserved), "full");
      this.#reserved = reserved;
    }
    this.#last += 1;
    return this.#last;
  }
}
