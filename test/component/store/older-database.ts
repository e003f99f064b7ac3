// The database of an agent that knew only the first steps of the schema.

import Sqlite from "better-sqlite3";
import { join } from "node:path";
import { APPLICATION_ID, SCHEMA_STEPS } from "../../../src/store/sqlite/schema.ts";

/** `fill`: statements in the words of that time. */
export function makeOlderDatabase(stateDir: string, steps: number, fill: string): void {
  const sqlite = new Sqlite(join(stateDir, "agent.db"));
  for (const step of SCHEMA_STEPS.slice(0, steps)) sqlite.exec(step);
  sqlite.exec(fill);
  sqlite.pragma(`application_id = ${APPLICATION_ID}`);
  sqlite.pragma(`user_version = ${steps}`);
  sqlite.close();
}
