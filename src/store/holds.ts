// Performs: stores which pods are held back from updates, and which pods' own request to hold was overruled.

import type { PodUID } from "../api/v1/pod.ts";
import type { Database, Query } from "./sqlite/database.ts";

interface Row {
  readonly name: string;
  readonly since: number;
  readonly released: PodUID;
}

/** Names are `namespace/name`; "" is the whole node. */
export class Holds {
  readonly #database: Database;
  readonly #upsert: Query<[string, number, string], unknown>;
  readonly #delete: Query<[string], unknown>;
  /** The table in memory: reads cost no query. */
  readonly #known: Map<string, Row>;

  constructor(database: Database) {
    this.#database = database;
    this.#upsert = database.query(
      `INSERT INTO hold (name, since, released) VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET since = excluded.since, released = excluded.released`,
    );
    this.#delete = database.query("DELETE FROM hold WHERE name = ?");
    const rows = database.query<[], Row>("SELECT name, since, released FROM hold").all();
    this.#known = new Map(rows.map((row) => [row.name, row]));
  }

  /** Wall ms of the order, for display only; undefined = not held. */
  since(name: string): number | undefined {
    const row = this.#known.get(name);
    return row === undefined || row.released !== "" ? undefined : row.since;
  }

  /** Whether this UID's own request to delay replacing its predecessor was overruled. */
  isReleased(name: string, uid: PodUID): boolean {
    return this.#known.get(name)?.released === uid;
  }

  /** On the disk when it returns; an existing hold keeps its time. */
  hold(name: string, now: number): void {
    if (this.since(name) === undefined) this.#put({ name, since: now, released: "" });
  }

  /** On the disk when it returns; an unknown name is ignored. */
  release(name: string): void {
    if (!this.#known.has(name)) return;
    this.#database.transaction(() => this.#delete.run(name), "full");
    this.#known.delete(name);
  }

  /** Ignores this UID's own request to hold from now on. */
  overrule(name: string, uid: PodUID, now: number): void {
    if (!this.isReleased(name, uid)) this.#put({ name, since: now, released: uid });
  }

  #put(row: Row): void {
    const { name, since, released } = row;
    this.#database.transaction(() => this.#upsert.run(name, since, released), "full");
    this.#known.set(name, row);
  }
}
