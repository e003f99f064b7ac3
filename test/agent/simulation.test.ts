// Thousands of bad days of the whole agent: seeded, in virtual time, judged at every act (docs/testing.md).
//
//   AGENT_SEED=17 bun test --isolate test/agent/simulation.test.ts       replays one seed, thins it out, tells its story
//   AGENT_SEEDS=20000 bun test --isolate test/agent/simulation.test.ts   as many, from AGENT_FIRST_SEED (default 0) on
//   AGENT_SIM_MINUTES=60 bun test --isolate test/agent/simulation.test.ts

import { expect, test } from "bun:test";
import { shrink, simulate, type SimOutcome } from "./sim-run.ts";
import { FOUND } from "./simulation-seeds.ts";
import { sayStep } from "./sim-steps.ts";

const DEFAULT_SEEDS = 500;
/** Far above what a seed takes. */
const SEED_MS = 10_000;
const SHRINK_MS = 20_000;
const MINUTE_MS = 60_000;
/** Seeds of one process in the long mode. */
const SHARE = 300;

function numberFrom(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new Error(`${name} is not a whole number: ${text}`);
}

async function storyOf(failed: SimOutcome): Promise<string> {
  const end = performance.now() + SHRINK_MS;
  const isEnough = (): boolean => performance.now() > end;
  const { seed, violation, steps, history } = await shrink(failed, { tries: 300, isEnough });
  return [
    `seed ${seed}: ${failed.violation}`,
    `AGENT_SEED=${seed} bun test --isolate test/agent/simulation.test.ts`,
    `fewest steps found (${violation}):`,
    ...steps.map((step) => `  ${sayStep(step)}`),
    "history:",
    ...history,
  ].join("\n");
}

async function mustHold(seed: number): Promise<SimOutcome> {
  const outcome = await simulate(seed);
  if (outcome.violation !== undefined) throw new Error(await storyOf(outcome));
  return outcome;
}

interface Totals {
  seeds: number;
  starts: number;
  removals: number;
  processes: number;
}

/** One seed after the other, as long as `goesOn`. */
async function run(first: number, goesOn: (done: number) => boolean): Promise<Totals> {
  const totals: Totals = { seeds: 0, starts: 0, removals: 0, processes: 0 };
  while (goesOn(totals.seeds)) {
    const { starts, removals, processes } = await mustHold(first + totals.seeds);
    totals.seeds += 1;
    totals.starts += starts;
    totals.removals += removals;
    totals.processes += processes;
  }
  return totals;
}

/** In a process of its own: one that hangs or falls takes no other share along. */
async function runShare(from: number): Promise<void> {
  const { AGENT_SIM_MINUTES: _, ...inherited } = process.env;
  const env = { ...inherited, AGENT_SEEDS: String(SHARE), AGENT_FIRST_SEED: String(from) };
  const command = [process.execPath, "test", "--isolate", import.meta.path];
  const child = Bun.spawn(command, { env, stdout: "ignore", stderr: "pipe" });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(said);
}

const only = numberFrom("AGENT_SEED");
const minutes = numberFrom("AGENT_SIM_MINUTES");
const count = numberFrom("AGENT_SEEDS") ?? DEFAULT_SEEDS;
const first = numberFrom("AGENT_FIRST_SEED") ?? 0;

if (only !== undefined) {
  test(`seed ${only}`, async () => void (await mustHold(only)), 600_000);
} else if (minutes !== undefined) {
  const limit = minutes * MINUTE_MS;
  test(
    `seeds from ${first} on, for ${minutes} minutes`,
    async () => {
      const end = performance.now() + limit;
      let next = first;
      for (; performance.now() < end; next += SHARE) await runShare(next);
      console.log(`${next - first} seeds`);
    },
    limit + 600_000,
  );
} else {
  test(
    `seeds ${first} to ${first + count - 1}`,
    async () => {
      const { starts, removals, processes } = await run(first, (done) => done < count);
      // Dice that trouble nobody prove nothing.
      expect(starts).toBeGreaterThan(3 * count);
      expect(removals).toBeGreaterThan(count / 2);
      expect(processes).toBeGreaterThan(1.2 * count);
    },
    count * SEED_MS,
  );
}

if (only === undefined && minutes === undefined && first === 0) {
  test.each(FOUND)(
    "$mutation (seed $seed)",
    async ({ seed }) => void (await mustHold(seed)),
    60_000,
  );

  test("a seed tells the same story each time", async () => {
    for (const seed of [5, 11, 23]) {
      const [one, other] = [await simulate(seed), await simulate(seed)];
      expect(one.history).toEqual(other.history);
      expect(one.history.length).toBeGreaterThan(20);
    }
  }, 60_000);
}
