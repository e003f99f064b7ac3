// Performs: stores small values by name.

import type { Database, Durability, Query } from "./sqlite/database.ts";

export class Meta {
  readonly #database: Database;
  readonly #select: Query<[string], { readonly value: string }>;
  readonly #upsert: Query<[string, string], unknown>;
  readonly #delete: Query<[string], unknown>;
  readonly #keys: Query<[string, string], { readonly key: string }>;

  constructor(database: Database) {
    this.#database = database;
    this.#select = database.query("SELECT value FROM meta WHERE key = ?");
    this.#upsert = database.query(
      "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    );
    this.#delete = database.query("DELETE FROM meta WHERE key = ?");
    this.#keys = database.query(
      "SELECT key FROM meta WHERE substr(key, 1, length(?)) = ? ORDER BY key",
    );
  }

  get(key: string): string | undefined {
    return this.#select.get(key)?.value;
  }

  /** Keys that begin with `prefix`, sorted. */
  keys(prefix: string): readonly string[] {
    return this.#keys.all(prefix, prefix).map(({ key }) => key);
  }

  /** Writes only when it differs. */
  set(key: string, value: string, durability: Durability = "normal"): void {
    if (this.get(key) === value) return;
    this.#database.transaction(() => this.#upsert.run(key, value), durability);
  }

  remove(key: string): void {
    if (this.get(key) === undefined) return;
    this.#database.transaction(() => this.#delete.run(key));
  }
}
