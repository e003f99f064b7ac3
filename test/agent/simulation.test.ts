// Thousands of bad days of the whole agent: seeded, in virtual time, judged at every act (docs/testing.md).
//
//   AGENT_SEED=17 bun test --isolate test/agent/simulation.test.ts       replays one seed, thins it out, tells its story
//   AGENT_SEEDS=2000 bun test --isolate test/agent/simulation.test.ts    as many, from AGENT_FIRST_SEED (default 0) on
//
// `many-seeds.ts` runs more of them, past those that fail.

import { expect, test } from "bun:test";
import { shrink, simulate, type SimOutcome } from "./sim-run.ts";
import { FOUND } from "./simulation-seeds.ts";
import { sayStep } from "./sim-steps.ts";

const DEFAULT_SEEDS = 500;
/** Far above what a seed takes. */
const SEED_MS = 10_000;
const SHRINK_MS = 20_000;

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
  starts: number;
  removals: number;
  processes: number;
}

async function run(first: number, count: number): Promise<Totals> {
  const totals: Totals = { starts: 0, removals: 0, processes: 0 };
  for (let seed = first; seed < first + count; seed += 1) {
    const { starts, removals, processes } = await mustHold(seed);
    totals.starts += starts;
    totals.removals += removals;
    totals.processes += processes;
  }
  return totals;
}

const only = numberFrom("AGENT_SEED");
const count = numberFrom("AGENT_SEEDS") ?? DEFAULT_SEEDS;
const first = numberFrom("AGENT_FIRST_SEED") ?? 0;

if (only !== undefined) {
  test(`seed ${only}`, async () => void (await mustHold(only)), 600_000);
} else {
  test(
    `seeds ${first} to ${first + count - 1}`,
    async () => {
      const { starts, removals, processes } = await run(first, count);
      // Dice that trouble nobody prove nothing.
      expect(starts).toBeGreaterThan(3 * count);
      expect(removals).toBeGreaterThan(count / 2);
      expect(processes).toBeGreaterThan(1.2 * count);
    },
    count * SEED_MS,
  );
}

if (only === undefined && first === 0) {
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
