// Thousands of bad days of the half of the agent that makes pods run: seeded, in virtual time, watched all the while.
//
//   AGENT_SEED=17 bun test test/agent/simulation.test.ts       replays one seed, thins it out, tells its story
//   AGENT_SEEDS=20000 bun test test/agent/simulation.test.ts   as many, from AGENT_FIRST_SEED (default 0) on

import { expect, test } from "bun:test";
import { shrink, simulate, type SimOutcome } from "./sim-run.ts";
import { sayStep } from "./sim-steps.ts";

/** Seeds that found something, by what it was. */
const FOUND: Readonly<Record<string, number>> = {
  "a pod was replaced by a lower source before its own had spoken": 73,
  "a container was started after the removal of its pod was ordered": 84,
  "a removal that the disk refused when another pod ended was lost": 89,
  "a container that was made late stayed, never started": 280,
  "the logs of a replaced pod outlived its name": 578,
  "a Never pod whose sandbox died kept a container that was never started": 1326,
  "what a relist had shown before it broke off was told to nobody": 1663,
  "old records that could not be removed once stayed": 1849,
  "a sandbox that was made late for a replaced pod stayed": 2011,
  "a container whose start was late was removed by an older plan": 11203,
};
const DEFAULT_SEEDS = 300;
/** Far above what a seed takes. */
const SEED_MS = 2_000;

function numberFrom(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new Error(`${name} is not a whole number: ${text}`);
}

async function storyOf(failed: SimOutcome): Promise<string> {
  const { seed, violation, steps, history } = await shrink(failed);
  return [
    `seed ${seed}: ${failed.violation}`,
    `AGENT_SEED=${seed} bun test test/agent/simulation.test.ts`,
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

const only = numberFrom("AGENT_SEED");
const many = numberFrom("AGENT_SEEDS");
const first = numberFrom("AGENT_FIRST_SEED") ?? 0;

if (only !== undefined) {
  test(`seed ${only}`, async () => void (await mustHold(only)), 600_000);
} else {
  const count = many ?? DEFAULT_SEEDS;
  test(
    `seeds ${first} to ${first + count - 1}`,
    async () => {
      let starts = 0;
      let removals = 0;
      let processes = 0;
      for (let seed = first; seed < first + count; seed += 1) {
        const outcome = await mustHold(seed);
        starts += outcome.starts;
        removals += outcome.removals;
        processes += outcome.processes;
      }
      // Dice that trouble nobody prove nothing.
      expect(starts).toBeGreaterThan(3 * count);
      expect(removals).toBeGreaterThan(count / 2);
      expect(processes).toBeGreaterThan(1.2 * count);
    },
    count * SEED_MS,
  );

  test.each(Object.entries(FOUND))("%s (seed %d)", async (_, seed) => void (await mustHold(seed)));

  test("a seed tells the same story each time", async () => {
    const [one, other] = [await simulate(5), await simulate(5)];
    expect(one.history).toEqual(other.history);
    expect(one.history.length).toBeGreaterThan(20);
  });
}
