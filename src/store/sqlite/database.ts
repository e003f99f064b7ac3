// Performs: the open SQLite database: prepared statements and transactions, with errors as AgentError.

import { existsSync, rmSync, statSync } from "node:fs";
import type Sqlite from "better-sqlite3";
import { writeAtomic } from "../../lib/files/system-durable-file.ts";
import { WrittenBytes } from "./written-bytes.ts";
import { asDatabaseError, isCorrupt, isFull, sqliteCode } from "./sqlite-error.ts";

/** `full`: on the disk before the transaction returns. `normal`: survives a kill, a power cut may take the last seconds. */
export type Durability = "normal" | "full";

export type Value = string | number | bigint | Uint8Array | null;

/** A prepared statement. */
export interface Query<P extends readonly Value[], Row> {
  /** Returns the number of changed rows. */
  run(...values: P): number;
  get(...values: P): Row | undefined;
  all(...values: P): Row[];
}

/** More than a transaction of the agent needs, and a checkpoint of the log after it. */
const RESERVE_BYTES = 256 * 1024;

export interface DatabasePaths {
  readonly database: string;
  /** Deleted when the disk is full, to free space for the next writes. */
  readonly reserve: string;
  /** Present after damage was detected while running; the next start sets the database aside. */
  readonly suspect: string;
}

/** Every method throws AgentError `DatabaseCorrupt`, `DatabaseFull` or `DatabaseUnavailable`. */
export class Database implements Disposable {
  readonly #sqlite: Sqlite.Database;
  readonly #paths: DatabasePaths;
  #transaction: Durability | undefined;
  /** Rows changed through `query`. */
  #changes = 0;
  #companion: (() => void) | undefined;
  readonly #counter = new WrittenBytes();
  #onWritten: ((bytes: number) => void) | undefined;
  #written = 0;

  constructor(sqlite: Sqlite.Database, paths: DatabasePaths) {
    this.#sqlite = sqlite;
    this.#paths = paths;
  }

  /** `Row` is not checked: tables are STRICT, so SQLite guarantees the column types. */
  query<P extends readonly Value[], Row = unknown>(sql: string): Query<P, Row> {
    const statement = this.#guard(() => this.#prepare<Row>(sql));
    return {
      run: (...values) => {
        const { changes } = this.#guard(() => this.#counted(() => statement.run(...values)));
        this.#changes += changes;
        return changes;
      },
      get: (...values) => this.#guard(() => statement.get(...values)),
      all: (...values) => this.#guard(() => statement.all(...values)),
    };
  }

  /** Bytes written to the log and by checkpoints since it was opened; undefined = the kernel does not count them. */
  get writtenBytes(): number | undefined {
    return this.#counter.read() === undefined ? undefined : this.#written;
  }

  /** `count` is called with the bytes of each write from now on. */
  countWith(count: (bytes: number) => void): void {
    this.#onWritten = count;
  }

  #counted<T>(run: () => T): T {
    // A part of a transaction that is counted as a whole.
    const before = this.#transaction === undefined ? this.#counter.read() : undefined;
    try {
      return run();
    } finally {
      if (before !== undefined) {
        const bytes = (this.#counter.read() ?? before) - before;
        this.#written += bytes;
        if (bytes > 0) this.#onWritten?.(bytes);
      }
    }
  }

  #prepare<Row>(sql: string): Sqlite.Statement<Value[], Row> {
    try {
      return this.#sqlite.prepare<Value[], Row>(sql);
    } catch (error) {
      // Every statement fits the schema that was just opened; an error means that the schema is damaged.
      if (sqliteCode(error) === "SQLITE_ERROR") markSuspect(this.#paths.suspect);
      throw error;
    }
  }

  /** Whether damage was detected: opening it again sets the file aside. */
  get isSuspect(): boolean {
    return existsSync(this.#paths.suspect);
  }

  /**
   * All of `run` or nothing. Inside another transaction it joins that one, which must be as durable.
   * `run` is called a second time, after a roll-back, when the disk was full and deleting the reserve helped.
   */
  transaction<T>(run: () => T, durability: Durability = "normal"): T {
    if (this.#transaction !== undefined) {
      if (durability === "full" && this.#transaction === "normal")
        throw new Error("a durable transaction cannot join one that is not");
      return run();
    }
    return this.#guard(() =>
      this.#counted(() => {
        try {
          return this.#transact(() => this.#withCompanion(run), durability);
        } catch (error) {
          if (!isFull(error)) throw error;
          rmSync(this.#paths.reserve, { force: true });
          return this.#transact(run, durability);
        }
      }),
    );
  }

  /** `companion` is called at the end of each transaction that changed rows, and may write something small. */
  setCompanion(companion: () => void): void {
    this.#companion = companion;
  }

  #withCompanion<T>(run: () => T): T {
    const before = this.#changes;
    const result = run();
    if (this.#changes > before) this.#companion?.();
    return result;
  }

  #transact<T>(run: () => T, durability: Durability): T {
    this.#transaction = durability;
    // SQLite accepts the setting only outside a transaction.
    if (durability === "full") this.#sqlite.pragma("synchronous = FULL");
    try {
      return this.#sqlite.transaction(run).immediate();
    } finally {
      this.#transaction = undefined;
      if (durability === "full") this.#sqlite.pragma("synchronous = NORMAL");
    }
  }

  /** Makes the reserve anew where it is gone, while there is space. Never throws. */
  keepReserve(): void {
    const { reserve } = this.#paths;
    if (statSync(reserve, { throwIfNoEntry: false })?.size === RESERVE_BYTES) return;
    try {
      // Not sparse: deleting it must free space.
      writeAtomic(reserve, Buffer.alloc(RESERVE_BYTES, 0xa5), 0o600);
    } catch {
      // The disk is full already.
      rmSync(reserve, { force: true });
    }
  }

  /** Writes a copy to a new file, without fsync. */
  copyTo(path: string): void {
    this.#guard(() => this.#sqlite.prepare("VACUUM INTO ?").run(path));
  }

  /** Frees the page cache. Never throws. */
  releaseMemory(): void {
    try {
      this.#sqlite.pragma("shrink_memory");
    } catch {
      // A broken database fails at its next use.
    }
  }

  #guard<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      // Inside a transaction SQLite's own error must reach #transact, which decides about a second try.
      if (this.#transaction !== undefined) throw error;
      if (isCorrupt(error)) markSuspect(this.#paths.suspect);
      throw asDatabaseError(error, this.#paths.database);
    }
  }

  [Symbol.dispose](): void {
    this.#sqlite.close();
    this.#counter[Symbol.dispose]();
  }
}

/** On the disk when it returns, if the disk takes it; else the check at the next start has to find the damage. */
export function markSuspect(path: string): void {
  try {
    writeAtomic(path, "", 0o600);
  } catch {
    // A full or broken disk.
  }
}
