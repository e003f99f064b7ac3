// Performs: stores which pods were evicted and wait, from before their first stop until they may run again.

import type { PodUID } from "../api/v1/pod.ts";
import type { Database } from "./sqlite/database.ts";
import { MemoryTable } from "./sqlite/memory-table.ts";

export interface EvictionRow {
  readonly uid: PodUID;
  readonly namespace: string;
  readonly name: string;
  readonly message: string;
  /** The node condition that has to end first; "" = only the back-off. */
  readonly condition: string;
  /** Most seconds that the pod gets to end. */
  readonly grace: number;
}

export class Evictions {
  readonly #table: MemoryTable<EvictionRow, "uid">;

  constructor(database: Database) {
    const values = ["namespace", "name", "message", "condition", "grace"] as const;
    this.#table = new MemoryTable(database, "eviction", { key: ["uid"], values });
  }

  all(): readonly EvictionRow[] {
    return this.#table.all();
  }

  put(row: EvictionRow): void {
    this.#table.put([row]);
  }

  /** Not durable: after a power cut the pod waits once more. An unknown UID is ignored. */
  forget(uid: PodUID): void {
    this.#table.remove((row) => row.uid === uid);
  }
}
