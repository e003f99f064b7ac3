// Performs: stores small values by name.

import type { Database, Durability, Query } from "./sqlite/database.ts";
import { Table } from "./sqlite/table.ts";

export class Meta {
  readonly #database: Database;
  readonly #table: Table<{ readonly key: string; readonly value: string }, "key">;
  readonly #keys: Query<[string, string], { readonly key: string }>;

  constructor(database: Database) {
    this.#database = database;
    this.#table = new Table(database, "meta", { key: ["key"], values: ["value"] });
    this.#keys = database.query(
      "SELECT key FROM meta WHERE substr(key, 1, length(?)) = ? ORDER BY key",
    );
  }

  get(key: string): string | undefined {
    return this.#table.get({ key })?.value;
  }

  /** Keys that begin with `prefix`, sorted. */
  keys(prefix: string): readonly string[] {
    return this.#keys.all(prefix, prefix).map(({ key }) => key);
  }

  /** Writes only when it differs. */
  set(key: string, value: string, durability: Durability = "normal"): void {
    if (this.get(key) === value) return;
    this.#database.transaction(() => this.#table.put({ key, value }), durability);
  }

  remove(key: string): void {
    if (this.get(key) === undefined) return;
    this.#database.transaction(() => this.#table.remove({ key }));
  }
}

const CLOCK_MARK = "clock.marked";

/** The last time at which the wall clock was synchronised; it is written only along with another write. */
export class ClockMark {
  readonly #database: Database;
  readonly #meta: Meta;

  constructor(database: Database, meta: Meta) {
    this.#database = database;
    this.#meta = meta;
  }

  /** Wall ms; undefined = the clock was never synchronised. */
  get marked(): number | undefined {
    const text = this.#meta.get(CLOCK_MARK);
    return text === undefined ? undefined : Number(text);
  }

  /** From now on each transaction that writes calls `due` and also stores the wall ms that it returns; undefined = not now. */
  follow(due: (marked: number | undefined) => number | undefined): void {
    let marked = this.marked;
    this.#database.setCompanion(() => {
      const time = due(marked);
      if (time === undefined) return;
      this.#meta.set(CLOCK_MARK, String(time));
      marked = time;
    });
  }

  /** At a clean stop. Throws what the disk throws. */
  write(time: number): void {
    this.#meta.set(CLOCK_MARK, String(time));
  }
}
