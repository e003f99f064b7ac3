// Performs: stores pods that failed as a whole (activeDeadlineSeconds, …), which no label in the runtime records: a
// failed pod stays failed over restarts and reboots.

import type { PodUID } from "../api/v1/pod.ts";
import type { Database, Query } from "./sqlite/database.ts";
import type { PodFailure } from "../api/v1/pod-status.ts";

export class Failures {
  readonly #database: Database;
  readonly #insert: Query<[string, string, string], unknown>;
  readonly #delete: Query<[string], unknown>;
  /** The table in memory: reads cost no query. */
  readonly #known: Map<PodUID, PodFailure>;

  constructor(database: Database) {
    this.#database = database;
    this.#insert = database.query(
      `INSERT INTO failure (uid, reason, message) VALUES (?, ?, ?) ON CONFLICT (uid) DO NOTHING`,
    );
    this.#delete = database.query("DELETE FROM failure WHERE uid = ?");
    const rows = database
      .query<[], PodFailure & { readonly uid: PodUID }>("SELECT uid, reason, message FROM failure")
      .all();
    this.#known = new Map(rows.map(({ uid, reason, message }) => [uid, { reason, message }]));
  }

  get(uid: PodUID): PodFailure | undefined {
    return this.#known.get(uid);
  }

  /** On the disk when it returns; the first failure of a UID stays. */
  put(uid: PodUID, failure: PodFailure): void {
    if (this.#known.has(uid)) return;
    const { reason, message } = failure;
    this.#database.transaction(() => this.#insert.run(uid, reason, message), "full");
    this.#known.set(uid, { reason, message });
  }

  /** After the pod's end. An unknown UID is ignored. */
  forget(uid: PodUID): void {
    if (!this.#known.has(uid)) return;
    this.#database.transaction(() => this.#delete.run(uid));
    this.#known.delete(uid);
  }
}
