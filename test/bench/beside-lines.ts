// One pod more beside pods that run: what looks at all pods for one shows as a ratio that grows.

import type { AgentSide } from "./agent-side.ts";
import { settle, type Rest } from "./idle-lines.ts";
import type { Bench, Pairs } from "./pairs.ts";
import { onePod } from "./pod-lines.ts";

export const BESIDE = [50, 100] as const;

/** The line of one pod beside so many others, in the order of `BESIDE`. */
export async function onePodBeside(
  bench: Bench,
  agent: AgentSide,
  { pairs, rest }: { readonly pairs: number; readonly rest: Rest },
): Promise<readonly Pairs[]> {
  const { log } = bench.world;
  const results: Pairs[] = [];
  let there = 0;
  try {
    for (const count of BESIDE) {
      const mark = log.mark();
      for (let at = there; at < count; at += 1) agent.put(`beside-${at}`);
      await log.lastStart(mark, count - there);
      there = count;
      await settle(bench, rest);
      results.push(await onePod(bench, pairs));
    }
  } finally {
    const mark = log.mark();
    for (let at = 0; at < there; at += 1) agent.drop(`beside-${at}`);
    await log.lastGone(mark, there);
  }
  return results;
}
