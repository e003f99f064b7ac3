// Performs: mends what a check of the state has found. The caller holds the lock of stateDir: no agent uses it.

import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { PlainFiles } from "../../lib/files/plain-files.ts";
import type { Random } from "../../lib/random.ts";
import { markSuspect } from "../sqlite/database.ts";
import { Store } from "../store.ts";
import type { StateProblem } from "./state-problem.ts";

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
  const needsRebuild = repairs.some(({ type }) => type === "Rebuild");
  for (const repair of repairs)
    if (repair.type === "ForgetFile") files.renameDurably(repair.file, `${repair.file}.damaged`);
  if (needsRebuild) markSuspect(`${path}.suspect`);
  else {
    const rows = repairs.filter((repair) => repair.type === "ForgetRow");
    const isIndexWrong = repairs.some(({ type }) => type === "Reindex");
    if (rows.length > 0 || isIndexWrong) {
      const sqlite = new Sqlite(path, { nativeBinding });
      try {
        sqlite.pragma("synchronous = FULL");
        if (isIndexWrong) sqlite.exec("REINDEX");
        for (const { table, rowId } of rows)
          sqlite
            .prepare(
              `DELETE FROM ${table} WHERE ${rowId.map(({ column }) => `${column} = ?`).join(" AND ")}`,
            )
            .run(...rowId.map(({ value }) => value));
      } finally {
        sqlite.close();
      }
    }
  }
  // It sets a database aside, adopts or rewrites files of documents, mends the trust record and the key.
  Store.open({ ...options })[Symbol.dispose]();
}
