// Performs: reads, writes and deletes rows of one table by their primary key.

import type { Database, Query, Value } from "./database.ts";

/** A row whose columns all have a type that SQLite stores. */
export type Storable<Row> = { readonly [Column in keyof Row]: Value };

/** Columns that are not listed, such as those of a newer agent, are neither read nor written. */
export interface Columns<Row, Key extends keyof Row> {
  /** The primary key. */
  readonly key: readonly (Key & string)[];
  readonly values: readonly (Exclude<keyof Row, Key> & string)[];
}

export class Table<Row extends Storable<Row>, Key extends keyof Row> {
  readonly #columns: Columns<Row, Key>;
  readonly #upsert: Query<readonly Value[], unknown>;
  readonly #select: Query<readonly Value[], Row>;
  readonly #all: Query<[], Row>;
  readonly #delete: Query<readonly Value[], unknown>;

  constructor(database: Database, name: string, columns: Columns<Row, Key>) {
    const { key, values } = columns;
    const all = [...key, ...values];
    const isKey = key.map((column) => `${column} = ?`).join(" AND ");
    const updates = values.map((column) => `${column} = excluded.${column}`);
    const differs = values.map((column) => `${column} IS NOT excluded.${column}`);
    this.#columns = columns;
    this.#upsert = database.query(
      `INSERT INTO ${name} (${all.join(", ")}) VALUES (${all.map(() => "?").join(", ")})
       ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${updates.join(", ")} WHERE ${differs.join(" OR ")}`,
    );
    const select = `SELECT ${all.join(", ")} FROM ${name}`;
    this.#select = database.query(`${select} WHERE ${isKey}`);
    this.#all = database.query(`${select} ORDER BY ${key.join(", ")}`);
    this.#delete = database.query(`DELETE FROM ${name} WHERE ${isKey}`);
  }

  /** Inserts a row, or updates the one with the same key if it differs. */
  put(row: Row): void {
    const { key, values } = this.#columns;
    this.#upsert.run(...[...key, ...values].map((column) => row[column]));
  }

  get(key: Pick<Row, Key>): Row | undefined {
    return this.#select.get(...this.#keyOf(key));
  }

  /** By key. */
  all(): readonly Row[] {
    return this.#all.all();
  }

  remove(key: Pick<Row, Key>): void {
    this.#delete.run(...this.#keyOf(key));
  }

  #keyOf(key: Pick<Row, Key>): readonly Value[] {
    return this.#columns.key.map((column) => key[column]);
  }
}
