// Uses a share of one processor, in short pieces, until its standard input ends: what any other program of the machine would
// take from the agent.
//
// bun test/bench/busy-processor.ts PERCENT

import { parseArgs } from "node:util";

const PIECE_MS = 10;
const share = Number(parseArgs({ allowPositionals: true }).positionals[0]) / 100;

let isOver = false;
void Bun.stdin.text().then(() => (isOver = true));
let used = 0;
const begun = performance.now();
while (!isOver) {
  while (used < (performance.now() - begun) * share) {
    const until = performance.now() + PIECE_MS * share;
    const before = performance.now();
    while (performance.now() < until);
    used += performance.now() - before;
  }
  await Bun.sleep(PIECE_MS / 2);
}
