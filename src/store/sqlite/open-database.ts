// Performs: opens the database; a damaged one is renamed and replaced by a new one.

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import Sqlite from "better-sqlite3";
import { messageOf } from "../../lib/errors.ts";
import { renameDurably, syncDirectoryOf, syncPath } from "../../lib/files/system-durable-file.ts";
import { Database, markSuspect, type DatabasePaths } from "./database.ts";
import { addonLoadError } from "./native-addon.ts";
import { APPLICATION_ID, SCHEMA_STEPS, TABLES } from "./schema.ts";
import { asDatabaseError, isDamage, sqliteCode } from "./sqlite-error.ts";

/** Why the database was replaced, and the path of the damaged one. */
export interface Recovery {
  readonly reason: string;
  readonly movedTo: string;
}

export interface OpenedDatabase {
  readonly database: Database;
  /** Only in an `opened` database does an empty table mean that there was nothing; in the others it may be lost. */
  readonly origin: "created" | "opened" | "recovered";
  /** The caller logs it as an error. */
  readonly recovered: Recovery | undefined;
}

/** There is one writer; a lock that another process holds longer is an error instead of blocking the event loop. */
const BUSY_MS = 200;
/**
 * While it is opened nothing else waits, and after a kill a check that the agent before had begun may hold a lock: it restores
 * the index of the log, at the lowest priority.
 */
const BUSY_AT_START_MS = 20_000;
/** Damaged databases kept for inspection. */
const KEPT_DAMAGED = 2;

/** Throws AgentError `DatabaseUnavailable`, `DatabaseFull` or `SqliteAddonUnusable`. */
export function openDatabase(path: string, nativeBinding: string): OpenedDatabase {
  loadAddon(nativeBinding);
  const paths: DatabasePaths = {
    database: path,
    reserve: `${path}.reserve`,
    suspect: `${path}.suspect`,
  };
  let recovered = existsSync(paths.suspect)
    ? setAside(paths, "damage was detected while it was in use")
    : undefined;
  let opened: Opened;
  try {
    opened = tryOpen(path, nativeBinding);
  } catch (error) {
    if (!isFileToBlame(error, path)) throw asDatabaseError(error, path);
    recovered = setAside(paths, messageOf(error));
    opened = reopen(path, nativeBinding);
  }
  const database = new Database(opened.sqlite, paths);
  database.keepReserve();
  if (recovered !== undefined) return { database, origin: "recovered", recovered };
  return { database, origin: opened.fresh ? "created" : "opened", recovered };
}

function reopen(path: string, nativeBinding: string): Opened {
  try {
    return tryOpen(path, nativeBinding);
  } catch (error) {
    throw asDatabaseError(error, path);
  }
}

function loadAddon(nativeBinding: string): void {
  try {
    new Sqlite(":memory:", { nativeBinding }).close();
  } catch (error) {
    throw addonLoadError(error, nativeBinding);
  }
}

/** SQLite can open it, but it is not a usable database of the agent. */
class Unusable extends Error {}

interface Opened {
  readonly sqlite: Sqlite.Database;
  /** It had no tables. */
  readonly fresh: boolean;
}

function tryOpen(path: string, nativeBinding: string): Opened {
  if (existsSync(path) && !statSync(path).isFile()) throw new Unusable("not a regular file");
  // Only root reads it: manifests hold passwords. SQLite gives its -wal and -shm the same mode.
  const isNew = !existsSync(path);
  closeSync(openSync(path, "a", 0o600));
  if (isNew) syncDirectoryOf(path);
  const sqlite = new Sqlite(path, { nativeBinding, timeout: BUSY_AT_START_MS });
  try {
    sqlite.pragma("journal_mode = WAL");
    sqlite.pragma("synchronous = NORMAL");
    sqlite.pragma("journal_size_limit = 4194304");
    check(sqlite);
    const fresh = migrate(sqlite, path) === 0;
    sqlite.pragma(`busy_timeout = ${BUSY_MS}`);
    return { sqlite, fresh };
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

function check(sqlite: Sqlite.Database): void {
  // Some damage shows only on a write; this one is rolled back.
  sqlite.exec("BEGIN; PRAGMA user_version = 1; ROLLBACK");
  const verdict = String(sqlite.pragma("quick_check(1)", { simple: true }));
  if (verdict !== "ok") throw new Unusable(`the integrity check failed: ${verdict}`);
  const tables = sqlite
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .pluck()
    .all();
  if (tables.length === 0) return;
  if (sqlite.pragma("application_id", { simple: true }) !== APPLICATION_ID)
    throw new Unusable("it is the database of another program");
  const missing = TABLES.find((table) => !tables.includes(table));
  if (missing !== undefined) throw new Unusable(`the table ${missing} is missing`);
}

/** Returns the version it had. A database of a newer agent is used unchanged: its additions have defaults. */
function migrate(sqlite: Sqlite.Database, path: string): number {
  const version = Number(sqlite.pragma("user_version", { simple: true }));
  if (version >= SCHEMA_STEPS.length) return version;
  if (version > 0) keepCopy(sqlite, path);
  const upgrade = sqlite.transaction(() => {
    for (const step of SCHEMA_STEPS.slice(version)) sqlite.exec(step);
    sqlite.pragma(`application_id = ${APPLICATION_ID}`);
    sqlite.pragma(`user_version = ${SCHEMA_STEPS.length}`);
  });
  upgrade.exclusive();
  return version;
}

/**
 * The database as the version before had it, for a person. Best effort, as on a full disk: steps only add, so that the version
 * before opens the new database as well.
 */
function keepCopy(sqlite: Sqlite.Database, path: string): void {
  const copy = `${path}.before-update`;
  const unfinished = `${copy}.new`;
  try {
    rmSync(unfinished, { force: true });
    // SQLite accepts an empty file, whose mode stays.
    closeSync(openSync(unfinished, "wx", 0o600));
    sqlite.prepare("VACUUM INTO ?").run(unfinished);
    syncPath(unfinished);
    renameDurably(unfinished, copy);
  } catch {
    rmSync(unfinished, { force: true });
  }
}

function isFileToBlame(error: unknown, path: string): boolean {
  if (error instanceof Unusable || isDamage(error)) return true;
  // A header that claims a future format opens read-only even where the file can be written.
  return sqliteCode(error) === "SQLITE_READONLY" && isWritable(path);
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    // A read-only file system or permissions: the file itself is intact.
    return false;
  }
}

function setAside(paths: DatabasePaths, reason: string): Recovery {
  const directory = dirname(paths.database);
  const prefix = `${basename(paths.database)}.corrupt-`;
  const numbers = readdirSync(directory)
    .filter((name) => name.startsWith(prefix))
    .map((name) => Number(name.slice(prefix.length)))
    .filter((number) => Number.isInteger(number))
    .toSorted((a, b) => a - b);
  const movedTo = join(directory, `${prefix}${(numbers.at(-1) ?? 0) + 1}`);
  // After a power cut in between, the next start sets aside what is left.
  markSuspect(paths.suspect);
  for (const suffix of ["", "-wal", "-shm"]) {
    if (existsSync(paths.database + suffix))
      renameDurably(paths.database + suffix, movedTo + suffix);
  }
  for (const number of numbers.slice(0, Math.max(0, numbers.length + 1 - KEPT_DAMAGED))) {
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(join(directory, `${prefix}${number}${suffix}`), { recursive: true, force: true });
  }
  rmSync(paths.suspect, { force: true });
  syncDirectoryOf(paths.database);
  return { reason, movedTo };
}
