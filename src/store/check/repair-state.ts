// Performs: mends what a check of the state has found. The caller holds the lock of stateDir: no agent uses it.

import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { PlainFiles } from "../../lib/files/plain-files.ts";
import type { Random } from "../../lib/random.ts";
import { markSuspect } from "../sqlite/database.ts";
import { isDamage } from "../sqlite/sqlite-error.ts";
import { Store } from "../store.ts";
import type { StateProblem, StateRepair } from "./state-problem.ts";

export interface StateRepairOptions {
  readonly stateDir: string;
  readonly files: PlainFiles;
  readonly random: Random;
  readonly nativeBinding: string;
}

/** Does for each problem what it names; a second check shows what it was worth. Throws what the disk throws. */
export function repairState(problems: readonly StateProblem[], options: StateRepairOptions): void {
  const { files, stateDir, nativeBinding } = options;
  const path = join(stateDir, "agent.db");
  const repairs = problems.flatMap(({ repair, file }) =>
    repair === undefined ? [] : [{ ...repair, file }],
  );
  if (repairs.length === 0) return;
  for (const repair of repairs)
    if (repair.type === "ForgetFile") files.renameDurably(repair.file, `${repair.file}.damaged`);
  const isLost =
    repairs.some(({ type }) => type === "Rebuild") || !mendDatabase(path, repairs, nativeBinding);
  if (isLost) markSuspect(`${path}.suspect`);
  // It sets a database aside, adopts or rewrites files of documents, mends the trust record and the key.
  Store.open({ ...options })[Symbol.dispose]();
}

/** Whether what is left of the database can be used. Throws what is not the fault of its content. */
function mendDatabase(
  path: string,
  repairs: readonly StateRepair[],
  nativeBinding: string,
): boolean {
  const rows = repairs.filter((repair) => repair.type === "ForgetRow");
  if (rows.length === 0 && !repairs.some(({ type }) => type === "Reindex")) return true;
  const sqlite = new Sqlite(path, { nativeBinding });
  try {
    sqlite.pragma("synchronous = FULL");
    // Before the rows: one that its index lacks is not found by its key.
    sqlite.exec("REINDEX");
    for (const { table, rowId } of rows)
      sqlite
        .prepare(
          `DELETE FROM ${table} WHERE ${rowId.map(({ column }) => `${column} = ?`).join(" AND ")}`,
        )
        .run(...rowId.map(({ value }) => value));
    return true;
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  } finally {
    sqlite.close();
  }
}
