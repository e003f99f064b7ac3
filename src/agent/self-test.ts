// Performs: the hidden verb with which a version is tested before it is started: it loads what the agent loads, reads the
// configuration, and opens a copy of the database.

import { existsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { realFiles } from "../host/real-files.ts";
import { messageOf } from "../lib/errors.ts";
import { systemRandom } from "../lib/system-clock.ts";
import { Store } from "../store/store.ts";

const STDOUT = 1;

/** Reads the directory with the copy from standard input; resolves to the exit code. */
export async function runSelfTest(
  version: string,
  loadConfig: () => Promise<unknown>,
): Promise<number> {
  try {
    const stateDir = (await Bun.stdin.text()).trim();
    await import("./run-agent.ts");
    await loadConfig();
    openCopy(stateDir);
    writeSync(STDOUT, JSON.stringify({ version }));
    return 0;
  } catch (error) {
    writeSync(STDOUT, JSON.stringify({ error: messageOf(error) }));
    return 1;
  }
}

/** A database that this version could not open would be set aside, and an empty one made: that is no success. */
function openCopy(stateDir: string): void {
  const hadOne = existsSync(join(stateDir, "agent.db"));
  using store = Store.open({ stateDir, files: realFiles(), random: systemRandom });
  if (store.recovered !== undefined)
    throw new Error(`it cannot open the database: ${store.recovered.reason}`);
  if (hadOne && store.origin !== "opened") throw new Error("it does not know the database");
}
