// Performs: stores pod removals in progress, from before the first stop until everything is gone: a restart resumes them.

import type { PodUID } from "../api/v1/pod.ts";
import type { Database, Durability, Query } from "./sqlite/database.ts";
import type { Removal } from "../api/pod/desired-pod.ts";

export class Removals {
  readonly #database: Database;
  readonly #upsert: Query<[string, string, string, string], unknown>;
  readonly #delete: Query<[string], unknown>;
  /** The table in memory: reads cost no query. */
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
   * Deletes the entry; an unknown UID is ignored. `normal` saves the fsync where no pod waits for this UID or name: after
   * a power cut within seconds the removal is repeated, which is harmless.
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
