// Performs: the random id of this database, and session numbers that are never reused inside it.

import type { Random } from "../lib/random.ts";
import type { Meta } from "./meta.ts";

/** Numbers reserved per write; those unused at the end of the process are skipped. */
const RESERVED_AT_ONCE = 100;
const RESERVED_KEY = "session.reserved";

export class Incarnation {
  /** Created with the database: sessions and event numbers can only be compared inside one incarnation. */
  readonly id: string;
  readonly #meta: Meta;
  #session: number;
  #reserved: number;

  constructor(meta: Meta, random: Random) {
    const known = meta.get("incarnation");
    this.id = known ?? random.hex(8);
    if (known === undefined) {
      meta.set(RESERVED_KEY, String(firstSession(this.id)), "full");
      meta.set("incarnation", this.id, "full");
    }
    this.#meta = meta;
    this.#reserved = Number(meta.get(RESERVED_KEY) ?? 0);
    this.#session = this.#reserved;
  }

  /** Increasing: one per connection to the broker. Written once per `RESERVED_AT_ONCE`; a restart continues at the next
   * multiple. */
  nextSession(): number {
    if (this.#session === this.#reserved) {
      const reserved = this.#reserved + RESERVED_AT_ONCE;
      this.#meta.set(RESERVED_KEY, String(reserved), "full");
      this.#reserved = reserved;
    }
    this.#session += 1;
    return this.#session;
  }
}

/** Signed commands name a session, so a new database must not reuse the sessions of a lost one. */
function firstSession(incarnation: string): number {
  return Number.parseInt(incarnation.slice(0, 7), 16) * RESERVED_AT_ONCE;
}
