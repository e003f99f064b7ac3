// Performs: a small table whose rows are also in memory: reads cost no query.

import type { Database, Durability } from "./database.ts";
import { Table, type Columns, type Storable } from "./table.ts";

export class MemoryTable<Row extends Storable<Row>, Key extends keyof Row> {
  readonly #database: Database;
  readonly #columns: Columns<Row, Key>;
  readonly #table: Table<Row, Key>;
  readonly #rows = new Map<string, Row>();

  constructor(database: Database, name: string, columns: Columns<Row, Key>) {
    this.#database = database;
    this.#columns = columns;
    this.#table = new Table(database, name, columns);
    for (const row of this.#table.all()) this.#rows.set(this.#keyOf(row), row);
  }

  get(key: Pick<Row, Key>): Row | undefined {
    return this.#rows.get(this.#keyOf(key));
  }

  all(): readonly Row[] {
    return [...this.#rows.values()];
  }

  /** On the disk when it returns, all in one transaction; unchanged rows are not written. */
  put(rows: readonly Row[]): void {
    const changed = rows.filter((row) => this.#isChanged(row));
    if (changed.length === 0) return;
    this.#database.transaction(() => {
      for (const row of changed) this.#table.put(row);
    }, "full");
    for (const row of changed) this.#rows.set(this.#keyOf(row), row);
  }

  /** Deletes the rows that match. */
  remove(matches: (row: Row) => boolean, durability: Durability = "normal"): void {
    const removed = this.all().filter(matches);
    if (removed.length === 0) return;
    this.#database.transaction(() => {
      for (const row of removed) this.#table.remove(row);
    }, durability);
    for (const row of removed) this.#rows.delete(this.#keyOf(row));
  }

  #isChanged(row: Row): boolean {
    const before = this.get(row);
    return this.#columns.values.some((column) => before?.[column] !== row[column]);
  }

  #keyOf(key: Pick<Row, Key>): string {
    return this.#columns.key.map((column) => key[column]).join("\0");
  }
}
