// Performs: stores containers that the agent stops in order to replace them: their exit codes count as no failure, and
// no label in the runtime records that.

import type { PodUID } from "../api/v1/pod.ts";
import type { Database, Query } from "./sqlite/database.ts";
import type { KilledInstance, KilledInstances } from "../api/pod/observed-pod.ts";

interface Row {
  readonly uid: PodUID;
  readonly container: string;
  readonly id: string;
  /** 0 or 1. */
  readonly always: number;
}

const NONE: KilledInstances = new Map();

export class KilledContainers {
  readonly #database: Database;
  readonly #upsert: Query<[string, string, string, number], unknown>;
  readonly #deleteOne: Query<[string, string], unknown>;
  readonly #deletePod: Query<[string], unknown>;
  /** The table in memory: reads cost no query. */
  readonly #known = new Map<PodUID, Map<string, KilledInstance>>();

  constructor(database: Database) {
    this.#database = database;
    this.#upsert = database.query(
      `INSERT INTO killed (uid, container, id, always) VALUES (?, ?, ?, ?)
       ON CONFLICT (uid, container) DO UPDATE SET id = excluded.id, always = excluded.always`,
    );
    this.#deleteOne = database.query("DELETE FROM killed WHERE uid = ? AND container = ?");
    this.#deletePod = database.query("DELETE FROM killed WHERE uid = ?");
    const rows = database.query<[], Row>("SELECT uid, container, id, always FROM killed").all();
    for (const { uid, container, id, always } of rows)
      this.#of(uid).set(container, { id, always: always !== 0 });
  }

  /** By container name. */
  get(uid: PodUID): KilledInstances {
    return this.#known.get(uid) ?? NONE;
  }

  /** On the disk when it returns, all in one transaction; the newest entry of a container replaces the one before. */
  put(uid: PodUID, killed: KilledInstances): void {
    const known = this.get(uid);
    const changed = [...killed].filter(([container, { id, always }]) => {
      const before = known.get(container);
      return before?.id !== id || before.always !== always;
    });
    if (changed.length === 0) return;
    this.#database.transaction(() => {
      for (const [container, { id, always }] of changed)
        this.#upsert.run(uid, container, id, always ? 1 : 0);
    }, "full");
    for (const [container, instance] of changed) this.#of(uid).set(container, instance);
  }

  /** After their replacement. Unknown ones are ignored. A power cut may restore the last entries; their ids are gone then. */
  settle(uid: PodUID, containers: readonly string[]): void {
    const known = this.#known.get(uid);
    const settled = containers.filter((container) => known?.has(container) === true);
    if (known === undefined || settled.length === 0) return;
    this.#database.transaction(() => {
      for (const container of settled) this.#deleteOne.run(uid, container);
    });
    for (const container of settled) known.delete(container);
    if (known.size === 0) this.#known.delete(uid);
  }

  /** After the pod's end. An unknown UID is ignored. */
  forget(uid: PodUID): void {
    if (!this.#known.has(uid)) return;
    this.#database.transaction(() => this.#deletePod.run(uid));
    this.#known.delete(uid);
  }

  /** Every pod with an entry. */
  pods(): readonly PodUID[] {
    return [...this.#known.keys()];
  }

  #of(uid: PodUID): Map<string, KilledInstance> {
    const known = this.#known.get(uid) ?? new Map<string, KilledInstance>();
    this.#known.set(uid, known);
    return known;
  }
}
