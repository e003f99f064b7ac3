// The lines of fifty pods: all at once, and all removed.

import { atMost, type BarePod } from "./bare-calls.ts";
import { podNames } from "./agent-side.ts";
import { inPairs, type Bench, type Pairs } from "./pairs.ts";
import { median } from "./statistics.ts";
import type { World } from "./world.ts";

export const MANY = 50;

export interface Widths {
  readonly start: number;
  readonly remove: number;
}

/** So many pods show which concurrency is best, in less time than fifty. */
const SAMPLE = 20;

/** The concurrency at which the bare calls are at their best: the smallest median of `rounds`. */
export async function bestWidths(
  bench: Bench,
  widths: readonly number[],
  rounds: number,
): Promise<Widths> {
  const { world } = bench;
  const start = new Map<number, number[]>();
  const remove = new Map<number, number[]>();
  for (let round = 0; round < rounds; round += 1)
    for (const width of widths) {
      const { elapsed, pods } = await startBare(world, width, SAMPLE);
      start.set(width, [...(start.get(width) ?? []), elapsed]);
      remove.set(width, [...(remove.get(width) ?? []), await removeBare(world, pods, width)]);
    }
  bench.say(`${SAMPLE} bare pods started, ms by concurrency: ${described(start)}`);
  bench.say(`${SAMPLE} bare pods removed, ms by concurrency: ${described(remove)}`);
  return { start: fastest(start), remove: fastest(remove) };
}

export interface ManyPairs {
  readonly start: Pairs;
  readonly remove: Pairs;
}

/** Started, looked at for a second, removed: both lines come from the same pods. */
export async function manyPods(
  bench: Bench,
  options: { readonly count: number; readonly widths: Widths },
): Promise<ManyPairs> {
  const { world } = bench;
  const { log, calls } = world;
  const removed = { agent: [] as number[], bare: [] as number[] };
  const notes = { start: "", remove: "" };
  const start = await inPairs(bench, {
    count: options.count,
    agent: async (agent, rest) => {
      await calls.reset();
      await rest();
      const mark = log.mark();
      const begin = performance.now();
      for (const name of podNames(MANY)) agent.put(name);
      const { at } = await log.lastStart(mark, MANY);
      await Bun.sleep(1_000);
      notes.start = await calls.perPod(MANY);
      await calls.reset();
      const gone = log.mark();
      const end = performance.now();
      for (const name of podNames(MANY)) agent.drop(name);
      removed.agent.push((await log.lastGone(gone, MANY)) - end);
      notes.remove = await calls.perPod(MANY);
      return at - begin;
    },
    bare: async (rest) => {
      await rest();
      const { elapsed, pods } = await startBare(world, options.widths.start, MANY);
      await Bun.sleep(1_000);
      removed.bare.push(await removeBare(world, pods, options.widths.remove));
      return elapsed;
    },
  });
  const explain = (width: number, counted: string): readonly string[] => [
    `bare calls ${width} at a time`,
    ...(counted === "" ? [] : [`calls per pod: ${counted}`]),
  ];
  return {
    start: { ...start, notes: explain(options.widths.start, notes.start) },
    remove: { ...removed, notes: explain(options.widths.remove, notes.remove) },
  };
}

async function startBare(
  { log, bare }: World,
  width: number,
  count: number,
): Promise<{ elapsed: number; pods: readonly BarePod[] }> {
  const configs = bare.prepare(count);
  const mark = log.mark();
  const start = performance.now();
  const pods = await atMost(width, configs, (config) => bare.run(config));
  const { at } = await log.lastStart(mark, count);
  return { elapsed: at - start, pods };
}

async function removeBare(
  { log, bare }: World,
  pods: readonly BarePod[],
  width: number,
): Promise<number> {
  const mark = log.mark();
  const start = performance.now();
  await atMost(width, pods, ({ sandboxId }) => bare.remove(sandboxId));
  return (await log.lastGone(mark, pods.length)) - start;
}

function fastest(times: ReadonlyMap<number, readonly number[]>): number {
  const [first] = [...times].toSorted(([, a], [, b]) => median(a) - median(b));
  return first?.[0] ?? 1;
}

function described(times: ReadonlyMap<number, readonly number[]>): string {
  return [...times].map(([width, row]) => `${width}: ${Math.round(median(row))}`).join(", ");
}
