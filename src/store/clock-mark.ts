// Performs: stores the last time at which the wall clock was synchronised; it is written only along with another write.

import type { Database } from "./sqlite/database.ts";
import type { Meta } from "./meta.ts";

const KEY = "clock.marked";

export class ClockMark {
  readonly #database: Database;
  readonly #meta: Meta;

  constructor(database: Database, meta: Meta) {
    this.#database = database;
    this.#meta = meta;
  }

  /** Wall ms; undefined = the clock was never synchronised. */
  get marked(): number | undefined {
    const text = this.#meta.get(KEY);
    return text === undefined ? undefined : Number(text);
  }

  /** From now on each transaction that writes calls `due` and also stores the wall ms that it returns; undefined = not now. */
  follow(due: (marked: number | undefined) => number | undefined): void {
    let marked = this.marked;
    this.#database.setCompanion(() => {
      const time = due(marked);
      if (time === undefined) return;
      this.#meta.set(KEY, String(time));
      marked = time;
    });
  }

  /** At a clean stop. Throws what the disk throws. */
  write(time: number): void {
    this.#meta.set(KEY, String(time));
  }
}
