// Performs: stores what has run of Jobs and CronJobs: what has ended once does not run again. On the disk when a write
// returns.

import type { SourceName } from "../api/pod/labels.ts";
import type { Database } from "./sqlite/database.ts";
import { MemoryTable } from "./sqlite/memory-table.ts";

export interface RunRow {
  readonly source: SourceName;
  /** `Job default/backup` */
  readonly name: string;
  /** JSON. */
  readonly state: string;
}

export class Runs {
  readonly #table: MemoryTable<RunRow, "source" | "name">;

  constructor(database: Database) {
    this.#table = new MemoryTable(database, "run", { key: ["source", "name"], values: ["state"] });
  }

  get(source: SourceName, name: string): string | undefined {
    return this.#table.get({ source, name })?.state;
  }

  of(source: SourceName): readonly RunRow[] {
    return this.#table.all().filter((row) => row.source === source);
  }

  /** In one transaction; unchanged rows are not written. */
  put(rows: readonly RunRow[]): void {
    this.#table.put(rows);
  }

  /** Of what is no longer declared: declared again, it begins anew. */
  forget(rows: readonly Pick<RunRow, "source" | "name">[]): void {
    const gone = new Set(rows.map(({ source, name }) => `${source} ${name}`));
    this.#table.remove(({ source, name }) => gone.has(`${source} ${name}`), "full");
  }
}
