// What an error of SQLite means for the agent: damage, a full disk, or a place that cannot be used.

import Sqlite from "better-sqlite3";
import { AgentError } from "../../lib/errors.ts";

/** Codes that speak of the surroundings of a database, not of its content. */
const SURROUNDINGS =
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

/** Whether a failure to open a database is the file's own fault, so that a new file would help. */
export function isDamage(thrown: unknown): boolean {
  const code = sqliteCode(thrown);
  if (code === undefined) return false;
  if (code.startsWith("SQLITE_IOERR")) return UNREADABLE.test(code);
  return !SURROUNDINGS.test(code);
}

/** Reason `DatabaseCorrupt`, `DatabaseFull` or `DatabaseUnavailable`; anything that is not SQLite's comes back as it is. */
export function asDatabaseError(thrown: unknown, path: string): unknown {
  const code = sqliteCode(thrown);
  if (code === undefined || !(thrown instanceof Error)) return thrown;
  const said = `${thrown.message}, ${code}`;
  if (isCorrupt(thrown)) {
    const message = `${path} is damaged (${said}); it is set aside and rebuilt at the next start`;
    return new AgentError({ reason: "DatabaseCorrupt", message, cause: thrown });
  }
  if (isFull(thrown)) {
    const message = `no space left for ${path} (${said}); free some space on its file system`;
    return new AgentError({ reason: "DatabaseFull", message, cause: thrown });
  }
  const message = `${path} cannot be used (${said})`;
  return new AgentError({ reason: "DatabaseUnavailable", message, cause: thrown });
}
