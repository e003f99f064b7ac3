// Performs: a small table whose rows are also in memory: reads cost no query.

import type { Columns, Database, Durability, Query, Storable, Value } from "./database.ts";

export class MemoryTable<Row extends Storable<Row>> {
  readonly #database: Database;
  readonly #columns: Columns<Row>;
  readonly #upsert: (row: Row) => void;
  readonly #delete: Query<readonly Value[], unknown>;
  readonly #rows = new Map<string, Row>();

  constructor(database: Database, table: string, columns: Columns<Row>) {
    this.#database = database;
    this.#columns = columns;
    this.#upsert = database.upsert<Row>(table, columns);
    const isKey = columns.key.map((column) => `${column} = ?`);
    this.#delete = database.query(`DELETE FROM ${table} WHERE ${isKey.join(" AND ")}`);
    const all = [...columns.key, ...columns.values].join(", ");
    const rows = database.query<[], Row>(
      `SELECT ${all} FROM ${table} ORDER BY ${columns.key.join(", ")}`,
    );
    for (const row of rows.all()) this.#remember(row);
  }

  /** By the columns of the key. */
  get(...key: readonly Value[]): Row | undefined {
    return this.#rows.get(key.join("\0"));
  }

  all(): readonly Row[] {
    return [...this.#rows.values()];
  }

  /** On the disk when it returns, all in one transaction; unchanged rows are not written. */
  put(rows: readonly Row[]): void {
    const changed = rows.filter((row) => this.#isChanged(row));
    if (changed.length === 0) return;
    this.#database.transaction(() => {
      for (const row of changed) this.#upsert(row);
    }, "full");
    for (const row of changed) this.#remember(row);
  }

  /** Deletes the rows that match. */
  remove(matches: (row: Row) => boolean, durability: Durability = "normal"): void {
    const removed = this.all()
      .filter(matches)
      .map((row) => this.#keyOf(row));
    if (removed.length === 0) return;
    this.#database.transaction(() => {
      for (const key of removed) this.#delete.run(...key);
    }, durability);
    for (const key of removed) this.#rows.delete(key.join("\0"));
  }

  #isChanged(row: Row): boolean {
    const before = this.get(...this.#keyOf(row));
    return this.#columns.values.some((column) => before?.[column] !== row[column]);
  }

  #remember(row: Row): void {
    this.#rows.set(this.#keyOf(row).join("\0"), row);
  }

  #keyOf(row: Row): readonly Value[] {
    return this.#columns.key.map((column) => row[column]);
  }
}
