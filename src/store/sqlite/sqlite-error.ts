// Classifies SQLite's errors: damage, a full disk, or an unusable path.

import Sqlite from "better-sqlite3";
import { AgentError } from "../../lib/errors.ts";

/** Codes caused by the environment of the file, not by its content. */
const ENVIRONMENT =
  /^SQLITE_(BUSY|LOCKED|FULL|CANTOPEN|NOMEM|PERM|AUTH|READONLY|MISUSE|INTERRUPT|NOLFS)/;
const UNREADABLE = /^SQLITE_IOERR_(READ|SHORT_READ|CORRUPTFS|DATA)/;

/** SQLite's extended code, e.g. `SQLITE_IOERR_WRITE`; undefined for any other error. */
export function sqliteCode(thrown: unknown): string | undefined {
  return thrown instanceof Sqlite.SqliteError ? thrown.code : undefined;
}

export function isCorrupt(thrown: unknown): boolean {
  const code = sqliteCode(thrown);
  return code !== undefined && /^SQLITE_(CORRUPT|NOTADB)/.test(code);
}

export function isFull(thrown: unknown): boolean {
  return sqliteCode(thrown) === "SQLITE_FULL";
}

/** Whether a failure to open is caused by the file's content, so that a new file would help. */
export function isDamage(thrown: unknown): boolean {
  const code = sqliteCode(thrown);
  if (code === undefined) return false;
  if (code.startsWith("SQLITE_IOERR")) return UNREADABLE.test(code);
  return !ENVIRONMENT.test(code);
}

/** Reason `DatabaseCorrupt`, `DatabaseFull` or `DatabaseUnavailable`; other errors are returned unchanged. */
export function asDatabaseError(thrown: unknown, path: string): unknown {
  const code = sqliteCode(thrown);
  if (code === undefined || !(thrown instanceof Error)) return thrown;
  const detail = `${thrown.message}, ${code}`;
  if (isCorrupt(thrown)) {
    const message = `${path} is damaged (${detail}); it is set aside and rebuilt at the next start`;
    return new AgentError({ reason: "DatabaseCorrupt", message, cause: thrown });
  }
  if (isFull(thrown)) {
    const message = `no space left for ${path} (${detail}); free some space on its file system`;
    return new AgentError({ reason: "DatabaseFull", message, cause: thrown });
  }
  const message = `${path} cannot be used (${detail})`;
  return new AgentError({ reason: "DatabaseUnavailable", message, cause: thrown });
}
