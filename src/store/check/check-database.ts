// Performs: checks the database without changing it, also beside an agent that uses it: a reader of its own, one transaction
// for each question.

import { existsSync, statSync } from "node:fs";
import Sqlite from "better-sqlite3";
import { messageOf } from "../../lib/errors.ts";
import type { SecretBox } from "../seal-secrets.ts";
import { APPLICATION_ID, TABLES } from "../sqlite/schema.ts";
import { isDamage, sqliteCode } from "../sqlite/sqlite-error.ts";
import { rowProblems } from "./check-rows.ts";
import type { StateProblem } from "./state-problem.ts";

export interface DatabaseCheck {
  readonly path: string;
  readonly nativeBinding: string;
  /** Opens what is sealed; undefined = there is no key, and sealed rows are not looked at. */
  readonly secrets: Pick<SecretBox, "open"> | undefined;
  /** Without the comparison of every index with its table. */
  readonly isLight: boolean;
}

const BUSY_MS = 5_000;
/** Complaints of SQLite that are shown. */
const SHOWN = 20;
const ABOUT_AN_INDEX =
  /^(?:row \d+ missing from index |wrong # of entries in index |non-unique entry in index )/;

const REBUILD =
  "agent fsck --repair with the agent stopped: the database is set aside and made anew from the stored documents, the manifests and the runtime";
const REINDEX =
  "agent fsck --repair with the agent stopped: its indexes are made anew, and the whole database if that does not mend it";

/** [] = nothing is wrong, or there is no database yet. */
export function checkDatabase(options: DatabaseCheck): readonly StateProblem[] {
  const { path, nativeBinding } = options;
  if (!existsSync(path)) return [];
  if (!statSync(path).isFile()) return [damaged(path, "it is not a regular file")];
  // A power cut may leave an empty file, which is a new database.
  if (statSync(path).size === 0) return [];
  let sqlite: Sqlite.Database | undefined;
  try {
    sqlite = new Sqlite(path, { nativeBinding, readonly: true, timeout: BUSY_MS });
    return problemsOf(sqlite, options);
  } catch (error) {
    if (isDamage(error)) return [damaged(path, messageOf(error))];
    return [unchecked(path, `${messageOf(error)}, ${sqliteCode(error) ?? "no code"}`)];
  } finally {
    sqlite?.close();
  }
}

function problemsOf(sqlite: Sqlite.Database, options: DatabaseCheck): readonly StateProblem[] {
  const { path, isLight } = options;
  const pragma = `${isLight ? "quick_check" : "integrity_check"}(${SHOWN})`;
  const complaints = textsOf(sqlite.pragma(pragma)).filter((text) => text !== "ok");
  const what = `its check complains: ${complaints.join("; ").replaceAll("\n", " ")}`;
  if (!complaints.every((text) => ABOUT_AN_INDEX.test(text))) return [damaged(path, what)];
  const wrong = schemaProblem(sqlite);
  if (wrong !== undefined) return [damaged(path, wrong)];
  const orphans = sqlite.pragma("foreign_key_check");
  if (Array.isArray(orphans) && orphans.length > 0)
    return [damaged(path, `${orphans.length} rows refer to rows that are not there`)];
  // A row that its index lacks may be changed in other columns as well: reading a whole table uses no index.
  const rows = rowProblems(sqlite, options);
  if (complaints.length === 0) return rows;
  const repair = { type: "Reindex" } as const;
  return [{ part: "database", file: path, what, remedy: REINDEX, repair }, ...rows];
}

function schemaProblem(sqlite: Sqlite.Database): string | undefined {
  const tables = sqlite
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .pluck()
    .all();
  // The first transaction of a new database did not end.
  if (tables.length === 0) return undefined;
  if (sqlite.pragma("application_id", { simple: true }) !== APPLICATION_ID)
    return "it is the database of another program";
  const missing = TABLES.find((table) => !tables.includes(table));
  if (missing !== undefined) return `the table ${missing} is missing`;
  const version = Number(sqlite.pragma("user_version", { simple: true }));
  // A newer agent's database is used unchanged, an older one's gets what it lacks at the next start.
  return version >= 1 ? undefined : `its version of the schema is ${version}`;
}

function textsOf(rows: unknown): readonly string[] {
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row: unknown) =>
    typeof row === "object" && row !== null ? Object.values(row).map(String) : [],
  );
}

function damaged(path: string, what: string): StateProblem {
  return { part: "database", file: path, what, remedy: REBUILD, repair: { type: "Rebuild" } };
}

function unchecked(path: string, why: string): StateProblem {
  const remedy = "run it as root, on a file system that can be written";
  return {
    part: "database",
    file: path,
    what: `it cannot be opened (${why})`,
    remedy,
    isUnchecked: true,
  };
}
