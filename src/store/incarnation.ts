// Performs: the random id of this database, and numbers that are never reused inside it: sessions and report numbers.

import type { Random } from "../lib/random.ts";
import type { Meta } from "./meta.ts";

/** Numbers reserved per write; those unused at the end of the process are skipped. */
const RESERVED_AT_ONCE = 100;

export class Incarnation {
  /** Created with the database: sessions, seq and event numbers can only be compared inside one incarnation. */
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

  /** Increasing: one per connection to the broker. */
  nextSession(): number {
    return this.#session.next();
  }

  /** 1, 2, 3 …: one per report. */
  nextSeq(): number {
    return this.#seq.next();
  }
}

/** Signed commands name a session, so a new database must not reuse the sessions of a lost one. */
function firstSession(incarnation: string): number {
  return Number.parseInt(incarnation.slice(0, 7), 16) * RESERVED_AT_ONCE;
}

/** Written once per `RESERVED_AT_ONCE`; a restart continues at the next multiple. */
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
