// Performs: stores small values by name.

import type { Database, Durability, Query } from "./sqlite/database.ts";

export class Meta {
  readonly #database: Database;
  readonly #select: Query<[string], { readonly value: string }>;
  readonly #upsert: (row: { readonly key: string; readonly value: string }) => void;
  readonly #delete: Query<[string], unknown>;
  readonly #keys: Query<[string, string], { readonly key: string }>;

  constructor(database: Database) {
    this.#database = database;
    this.#select = database.query("SELECT value FROM meta WHERE key = ?");
    this.#upsert = database.upsert("meta", { key: ["key"], values: ["value"] });
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
    this.#database.transaction(() => this.#upsert({ key, value }), durability);
  }

  remove(key: string): void {
    if (this.get(key) === undefined) return;
    this.#database.transaction(() => this.#delete.run(key));
  }
}
