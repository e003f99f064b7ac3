// Performs: responses to commands that wait in the outbox: each is a message of its own, in order, until it expires.

import type { Database, Query } from "../sqlite/database.ts";

interface StoredResponse {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** MQTT 5's Correlation Data of the command. */
  readonly correlation?: Uint8Array;
  /** Wall ms. */
  readonly expiresAt: number;
}

/** Above these limits the oldest are dropped. */
const MAX_ROWS = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** Behind state, reports and warnings. */
const RANK = 3;

export class Responses {
  readonly #database: Database;
  readonly #insert: Query<[number, string, Uint8Array, Uint8Array | null, number], unknown>;
  readonly #expire: Query<[number], unknown>;
  readonly #cap: Query<[number], unknown>;
  readonly #capBytes: Query<[number], unknown>;
  #lost = 0;

  constructor(database: Database) {
    this.#database = database;
    this.#insert = database.query(
      `INSERT INTO outbox (rank, kind, topic, payload, qos, retain, content, correlation, expires_at)
         VALUES (?, 'response', ?, ?, 1, 0, '', ?, ?)`,
    );
    this.#expire = database.query(
      "DELETE FROM outbox WHERE rank = 3 AND kind = 'response' AND expires_at < ?",
    );
    this.#cap = database.query(
      `DELETE FROM outbox WHERE id IN
         (SELECT id FROM outbox WHERE rank = 3 AND kind = 'response' ORDER BY id DESC LIMIT -1 OFFSET ?)`,
    );
    this.#capBytes = database.query(
      `DELETE FROM outbox WHERE id IN
         (SELECT id FROM
            (SELECT id, sum(length(payload)) OVER (ORDER BY id DESC) AS bytes
               FROM outbox WHERE rank = 3 AND kind = 'response')
            WHERE bytes > ?)`,
    );
  }

  /** Survives the end of the process; all responses of one call or none. `now` in wall ms. */
  add(responses: readonly StoredResponse[], now: number): void {
    if (responses.length === 0) return;
    const dropped = this.#database.transaction(() => {
      for (const { topic, payload, correlation, expiresAt } of responses)
        this.#insert.run(RANK, topic, payload, correlation ?? null, expiresAt);
      this.#expire.run(now);
      return this.#cap.run(MAX_ROWS) + this.#capBytes.run(MAX_BYTES);
    });
    this.#lost += dropped;
  }

  /** Dropped since this process began, because there were too many. */
  get lost(): number {
    return this.#lost;
  }

  forgetExpired(now: number): void {
    this.#expire.run(now);
  }
}
