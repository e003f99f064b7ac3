// Performs: stores accepted commands: one that arrives twice is executed once, also across restarts.

import type { CommandMoment, TakenCommand } from "../protocol/command.ts";
import type { Database, Query } from "./sqlite/database.ts";

interface Row {
  readonly id: string;
  readonly reply_to: string;
  readonly correlation: Uint8Array | null;
  readonly forget_at: number;
  readonly session: number;
  readonly held: number;
}

/** Limit of the rows that are not held. */
const MAX_ROWS = 1_000;

export class Commands {
  readonly #database: Database;
  readonly #upsert: Query<
    [string, number, string, Uint8Array | null, number, number, number],
    unknown
  >;
  readonly #code: Query<[string], { readonly code: number }>;
  readonly #open: Query<[], Row>;
  readonly #held: Query<[number], { readonly held: number }>;
  readonly #forget: Query<[number, number], unknown>;
  readonly #cap: Query<[number, number], unknown>;

  constructor(database: Database) {
    this.#database = database;
    this.#upsert = database.query(
      `INSERT INTO command (id, code, reply_to, correlation, forget_at, session, held)
         VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET code = excluded.code`,
    );
    this.#code = database.query("SELECT code FROM command WHERE id = ?");
    this.#open = database.query(
      `SELECT id, reply_to, correlation, forget_at, session, held FROM command
         WHERE code = 0 ORDER BY serial`,
    );
    this.#held = database.query(
      "SELECT count(*) AS held FROM command WHERE held = 1 AND session = ?",
    );
    // Commands of the present session do not expire: the clock may have been set.
    this.#forget = database.query("DELETE FROM command WHERE session <> ? AND forget_at < ?");
    this.#cap = database.query(
      `DELETE FROM command WHERE serial IN
         (SELECT serial FROM command WHERE held = 0 OR session <> ?
            ORDER BY serial DESC LIMIT -1 OFFSET ?)`,
    );
  }

  /** The final code, 0 = no final answer yet; undefined = never received, or forgotten. */
  codeOf(id: string): number | undefined {
    return this.#code.get(id)?.code;
  }

  /** The number of commands held for this session. */
  heldIn(session: number): number {
    return this.#held.get(session)?.held ?? 0;
  }

  /** Before it is executed. */
  begin(command: TakenCommand, at: CommandMoment): void {
    this.#write(command, 0, at);
  }

  /** `code` is final; also for a command that was never begun. */
  finish(command: TakenCommand, code: number, at: CommandMoment): void {
    this.#write(command, code, at);
  }

  /** Begun and not finished: after a start, those that the end of the last process interrupted. */
  unfinished(): readonly TakenCommand[] {
    return this.#open.all().map(({ id, reply_to, correlation, forget_at, session, held }) => ({
      id,
      replyTo: reply_to,
      forgetAt: forget_at,
      ...(correlation === null ? {} : { correlation }),
      ...(session === 0 ? {} : { session }),
      ...(held === 0 ? {} : { held: true }),
    }));
  }

  #write(command: TakenCommand, code: number, at: CommandMoment): void {
    const { id, replyTo, correlation = null, forgetAt, session = 0, held = false } = command;
    this.#database.transaction(() => {
      this.#upsert.run(id, code, replyTo, correlation, forgetAt, session, held ? 1 : 0);
      this.#forget.run(at.session, at.now);
      this.#cap.run(at.session, MAX_ROWS);
    });
  }
}
