// A child process for lock.test.ts: takes the lock, says so, and holds it until it is killed.

import { writeSync } from "node:fs";
import { lockStateDir } from "../../../src/host/agent-lock.ts";

const lock = lockStateDir(process.argv[2] ?? "");
writeSync(1, "locked\n");
// Its standard input stays open for as long as the test wants it to live.
await Bun.stdin.text();
lock[Symbol.dispose]();
