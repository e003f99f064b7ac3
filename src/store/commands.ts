// Commands that were taken: nobody who asks twice is obeyed twice, whatever happens between.

import type { Database, Query } from "./database.ts";

export interface TakenCommand {
  readonly id: string;
  readonly replyTo: string;
  /** MQTT 5's Correlation Data. */
  readonly correlation?: Uint8Array;
  /** Wall ms. */
  readonly forgetAt: number;
}

interface Row {
  readonly id: string;
  readonly reply_to: string;
  readonly correlation: Uint8Array | null;
  readonly forget_at: number;
}

const MAX_ROWS = 1_000;

export class Commands {
  readonly #database: Database;
  readonly #upsert: Query<[string, number, string, Uint8Array | null, number], unknown>;
  readonly #code: Query<[string], { readonly code: number }>;
  readonly #open: Query<[], Row>;
  readonly #forget: Query<[number], unknown>;
  readonly #cap: Query<[number], unknown>;

  constructor(database: Database) {
    this.#database = database;
    this.#upsert = database.query(
      `INSERT INTO command (id, code, reply_to, correlation, forget_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET code = excluded.code`,
    );
    this.#code = database.query("SELECT code FROM command WHERE id = ?");
    this.#open = database.query(
      "SELECT id, reply_to, correlation, forget_at FROM command WHERE code = 0 ORDER BY serial",
    );
    this.#forget = database.query("DELETE FROM command WHERE forget_at < ?");
    this.#cap = database.query(
      "DELETE FROM command WHERE serial <= (SELECT max(serial) FROM command) - ?",
    );
  }

  /** The final code, 0 = no final answer yet; undefined = never seen, or long ago. */
  codeOf(id: string): number | undefined {
    return this.#code.get(id)?.code;
  }

  /** It is about to be obeyed. `now` in wall ms. */
  begin(command: TakenCommand, now: number): void {
    this.#write(command, 0, now);
  }

  /** `code` is the final one; also of a command that was never begun. */
  finish(command: TakenCommand, code: number, now: number): void {
    this.#write(command, code, now);
  }

  /** Begun and never finished: after a start, those that the end of the process before has cut off. */
  unfinished(): readonly TakenCommand[] {
    return this.#open.all().map(({ id, reply_to, correlation, forget_at }) => ({
      id,
      replyTo: reply_to,
      forgetAt: forget_at,
      ...(correlation === null ? {} : { correlation }),
    }));
  }

  #write({ id, replyTo, correlation, forgetAt }: TakenCommand, code: number, now: number): void {
    this.#database.transaction(() => {
      this.#upsert.run(id, code, replyTo, correlation ?? null, forgetAt);
      this.#forget.run(now);
      this.#cap.run(MAX_ROWS);
    });
  }
}
