// The agent's database as a power cut has left it on the disk of a device.

import { deepStrictEqual } from "node:assert/strict";
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { Database } from "bun:sqlite";

import type { Device } from "./device.ts";
import type { Stage } from "./scenario.ts";

export interface DiskState {
  readonly database: Database;
  /** Texts of the documents that were taken over into files. */
  readonly documents: readonly string[];
}

/** Read from a copy: mounting the disk replays its journal, as the next boot does. */
export async function readDisk<T>(
  { device, stage }: { readonly device: Device; readonly stage: Stage },
  read: (state: DiskState) => T,
): Promise<T> {
  const root = stage.temp.directory("disk-state/root");
  const copy = stage.temp.directory("disk-state/copy");
  let documents: readonly string[] = [];
  await device.withDisk(root, async () => {
    const state = join(root, "var/lib/agent");
    for (const name of ["agent.db", "agent.db-wal"])
      if (existsSync(join(state, name))) copyFileSync(join(state, name), join(copy, name));
    const desired = join(state, "desired");
    documents = readdirSync(desired).map((name) => readFileSync(join(desired, name), "latin1"));
  });
  try {
    using database = new Database(join(copy, "agent.db"));
    deepStrictEqual(database.query("PRAGMA integrity_check").get(), { integrity_check: "ok" });
    return read({ database, documents });
  } finally {
    for (const name of readdirSync(copy)) rmSync(join(copy, name), { force: true });
  }
}
