// The last valid version of every object that came from a manifest file (law 10).

import type { LastGood, LastGoodChanges, LastGoodStore } from "../api/last-good.ts";
import type { Database, Query } from "./database.ts";

export class LastGoodManifests implements LastGoodStore {
  readonly #database: Database;
  readonly #select: Query<[], LastGood>;
  readonly #upsert: Query<[string, number, string, string, string], unknown>;
  readonly #delete: Query<[string, string, string], unknown>;

  constructor(database: Database) {
    this.#database = database;
    this.#select = database.query(
      "SELECT path, document, namespace, name, text FROM last_good ORDER BY path, document, namespace, name",
    );
    this.#upsert = database.query(
      `INSERT INTO last_good (path, document, namespace, name, text) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (path, namespace, name) DO UPDATE SET document = excluded.document, text = excluded.text
       WHERE document <> excluded.document OR text <> excluded.text`,
    );
    this.#delete = database.query(
      "DELETE FROM last_good WHERE path = ? AND namespace = ? AND name = ?",
    );
  }

  /** By path, then by place in the file. */
  load(): readonly LastGood[] {
    return this.#select.all();
  }

  /** One transaction; rows that say the same already are not written. */
  save({ put, removed }: LastGoodChanges): void {
    if (put.length === 0 && removed.length === 0) return;
    this.#database.transaction(() => {
      for (const { path, namespace, name } of removed) this.#delete.run(path, namespace, name);
      for (const { path, document, namespace, name, text } of put)
        this.#upsert.run(path, document, namespace, name, text);
    });
  }
}
