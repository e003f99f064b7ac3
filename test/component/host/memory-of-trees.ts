// Performs: does one thing to a tree and prints the peak of this process's memory meanwhile, in kB. The kernel's figure:
// names outside of JavaScript's heap count too.

import { readFileSync } from "node:fs";
import { realFiles } from "../../../src/host/real-files.ts";

const [what = "", path = ""] = process.argv.slice(2);
const SHARED = { group: 4242, readOnly: false, unlessRootFits: false };
const files = realFiles();
switch (what) {
  case "remove":
    for (const _ of files.emptyLargeTree(path)) continue;
    files.removeTree(path);
    break;
  case "share":
    for (const _ of files.shareLargeTree(path, SHARED)) continue;
    break;
  case "measure":
    files.diskUsage(path);
    break;
  default:
    throw new Error(`unknown: ${what}`);
}
console.log(Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]));
