// Runs many seeds of the simulation in the background, goes on past those that fail, and names them.
//
//   bun test/agent/many-seeds.ts --seeds 100000               from seed 0 on, on all cores
//   bun test/agent/many-seeds.ts --first 5000 --lanes 1       from this one on, so many processes at once
//
// A failure is a line on stdout at once; the last line has the totals. Exit code 1 = some have failed.

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { simulate } from "./sim-run.ts";

/** Seeds of one process: what a seed leaves behind goes with it. */
const SHARE = 1000;
/** Far above what a seed takes, also beside other work. */
const SEED_MS = 600_000;

/** Memory that is given back and taken again with each seed costs a quarter of the processor's time. */
const KEEPS_MEMORY = { MIMALLOC_PURGE_DELAY: "-1" };

interface Share {
  readonly first: number;
  readonly count: number;
}

interface Totals {
  seeds: number;
  failed: number;
}

const children = new Set<Bun.Subprocess>();

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "10000" },
    first: { type: "string", default: "0" },
    lanes: { type: "string", default: String(availableParallelism()) },
    /** One share, in a process of its own: a line for each seed that begins, and for each that fails. */
    share: { type: "boolean", default: false },
  },
});

function numberOf(option: "seeds" | "first" | "lanes"): number {
  const value = Number(values[option]);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`--${option} is not a whole number: ${values[option]}`);
}

async function runSeeds({ first, count }: Share): Promise<void> {
  for (let seed = first; seed < first + count; seed += 1) {
    process.stdout.write(`${seed}\n`);
    const { violation } = await simulate(seed);
    if (violation !== undefined)
      process.stdout.write(`${seed} ${violation.replaceAll("\n", " ")}\n`);
  }
}

/** Until its process ends, by itself or because a seed takes too long; what is left of the share then. */
async function runShare(share: Share, onFailure: (line: string) => void): Promise<Share> {
  const args = ["--share", `--first=${share.first}`, `--seeds=${share.count}`];
  const command = [process.execPath, import.meta.path, ...args];
  const child = Bun.spawn(command, { stderr: "inherit", env: { ...process.env, ...KEEPS_MEMORY } });
  children.add(child);
  const limit = setTimeout(() => child.kill("SIGKILL"), SEED_MS);
  let current = share.first;
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    limit.refresh();
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      current = Number.parseInt(line, 10);
      if (line.includes(" ")) onFailure(line);
    }
  }
  clearTimeout(limit);
  children.delete(child);
  if ((await child.exited) === 0) return { first: share.first + share.count, count: 0 };
  const why = child.signalCode === "SIGKILL" ? "never comes to an end" : "has ended its process";
  onFailure(`${current} ${why}`);
  return { first: current + 1, count: share.first + share.count - current - 1 };
}

async function main(): Promise<number> {
  const begun = performance.now();
  const [first, count] = [numberOf("first"), numberOf("seeds")];
  const totals: Totals = { seeds: 0, failed: 0 };
  let next = first;
  const lane = async (): Promise<void> => {
    while (next < first + count) {
      let share: Share = { first: next, count: Math.min(SHARE, first + count - next) };
      next += share.count;
      while (share.count > 0) {
        const left = await runShare(share, (line) => {
          totals.failed += 1;
          console.log(line);
        });
        totals.seeds += share.count - left.count;
        share = left;
      }
      console.error(`${totals.seeds} of ${count} seeds, ${totals.failed} failed`);
    }
  };
  await Promise.all(Array.from({ length: numberOf("lanes") }, lane));
  const minutes = Math.round((performance.now() - begun) / 60_000);
  console.log(`${totals.seeds} seeds, ${totals.failed} failed, ${minutes} minutes`);
  return totals.failed === 0 ? 0 : 1;
}

if (values.share) {
  await runSeeds({ first: numberOf("first"), count: numberOf("seeds") });
  process.exit(0);
}
process.once("SIGTERM", () => {
  for (const child of children) child.kill("SIGKILL");
  process.exit(143);
});
process.exit(await main());
