// SQLite's addon for x64, embedded in the binary: build.sh chooses this file with --conditions=linux-x64.

import embedded from "../../../node_modules/better-sqlite3/prebuilds/linux-x64.node" with { type: "file" };

/** Path of the addon's bytes inside the binary; it can be read, not loaded. */
export const addonPath: string = embedded;
