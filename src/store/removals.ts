// Performs: removals under way: written before the first stop, struck out when everything is gone (law 16).

import type { PodUID } from "../api/v1/pod.ts";
import type { Removal } from "../api/pod/removal.ts";
import type { Database, Durability, Query } from "./sqlite/database.ts";

export class Removals {
  readonly #database: Database;
  readonly #upsert: Query<[string, string, string, string], unknown>;
  readonly #delete: Query<[string], unknown>;
  /** What the table says, so that asking twice costs nothing. */
  readonly #underWay: Map<PodUID, Removal>;

  constructor(database: Database) {
    this.#database = database;
    this.#upsert = database.query(
      `INSERT INTO removal (uid, namespace, name, why) VALUES (?, ?, ?, ?)
       ON CONFLICT (uid) DO UPDATE SET why = excluded.why`,
    );
    this.#delete = database.query("DELETE FROM removal WHERE uid = ?");
    const rows = database
      .query<[], Removal>("SELECT uid, namespace, name, why FROM removal ORDER BY uid")
      .all();
    this.#underWay = new Map(rows.map((removal) => [removal.uid, removal]));
  }

  /** On the disk when it returns, all in one transaction. `Deleted` is never weakened to `Replaced`. */
  begin(removals: readonly Removal[]): void {
    const changed = removals.filter((removal) => {
      const known = this.#underWay.get(removal.uid);
      return known === undefined || (known.why === "Replaced" && removal.why === "Deleted");
    });
    if (changed.length === 0) return;
    this.#database.transaction(() => {
      for (const { uid, namespace, name, why } of changed)
        this.#upsert.run(uid, namespace, name, why);
    }, "full");
    for (const removal of changed) this.#underWay.set(removal.uid, removal);
  }

  /**
   * Strikes one out; nothing there = fine. `normal` spares the fsync where nobody waits for this UID or name: a power
   * cut within seconds then removes once more what is gone already.
   */
  settle(uid: PodUID, durability: Durability = "full"): void {
    if (!this.#underWay.has(uid)) return;
    this.#database.transaction(() => this.#delete.run(uid), durability);
    this.#underWay.delete(uid);
  }

  has(uid: PodUID): boolean {
    return this.#underWay.has(uid);
  }

  all(): readonly Removal[] {
    return [...this.#underWay.values()];
  }
}
