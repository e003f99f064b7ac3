// Performs: SQLite's addon where nothing is embedded: tests and `bun run` read it from node_modules.

import { fileURLToPath } from "node:url";

const prebuilds = new URL("../../../node_modules/better-sqlite3/prebuilds/", import.meta.url);

/** Path of the addon's file. */
export const addonPath: string = fileURLToPath(new URL(`linux-${process.arch}.node`, prebuilds));
