// Performs: pods that have failed as a whole (activeDeadlineSeconds, …): what no label in the runtime can tell, so that
// a failed pod stays failed over restarts and reboots.

import type { PodFailure } from "../api/v1/pod-failure.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { Database, Query } from "./sqlite/database.ts";

export class Failures {
  readonly #database: Database;
  readonly #insert: Query<[string, string, string], unknown>;
  readonly #delete: Query<[string], unknown>;
  /** What the table says, so that asking costs nothing. */
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

  /** On the disk when it returns; the first failure of a life stands. */
  put(uid: PodUID, failure: PodFailure): void {
    if (this.#known.has(uid)) return;
    const { reason, message } = failure;
    this.#database.transaction(() => this.#insert.run(uid, reason, message), "full");
    this.#known.set(uid, { reason, message });
  }

  /** The life is over; nothing there = fine. */
  forget(uid: PodUID): void {
    if (!this.#known.has(uid)) return;
    this.#database.transaction(() => this.#delete.run(uid));
    this.#known.delete(uid);
  }
}
