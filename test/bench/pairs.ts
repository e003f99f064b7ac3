// Interleaves the agent and the bare calls, and keeps what each pair took.

import type { AgentSide } from "./agent-side.ts";
import { settled } from "./process-facts.ts";
import type { World } from "./world.ts";

export interface Pairs {
  /** Milliseconds; empty when there is no agent. */
  readonly agent: readonly number[];
  readonly bare: readonly number[];
  /** Facts that explain the numbers. */
  readonly notes: readonly string[];
}

/** What every line is measured with. */
export interface Bench {
  readonly world: World;
  /** Absent = only the bare half. */
  readonly agent: AgentSide | undefined;
  readonly say: (text: string) => void;
}

export interface Halves {
  readonly count: number;
  /** One measurement, in ms, with its own clearing up; `rest` is awaited when all is prepared, right before the clock starts. */
  readonly agent: (agent: AgentSide, rest: Rest) => Promise<number>;
  readonly bare: (rest: Rest) => Promise<number>;
}

/** Until containerd, the agent and the kernel have fallen quiet. */
export type Rest = () => Promise<void>;

/** The kernel takes down the network and the cgroups of the pod before in its own time, and no process is charged for it. */
const CLEARING_MS = 400;

/** Agent, bare, agent, bare, … */
export async function inPairs(bench: Bench, halves: Halves): Promise<Pairs> {
  const { world, agent } = bench;
  const times = { agent: [] as number[], bare: [] as number[], notes: [] as string[] };
  const rest = async (): Promise<void> => {
    if (agent !== undefined) await settled(agent.pid, { quietMs: 50 });
    if (world.containerd.pid !== undefined) await settled(world.containerd.pid, { quietMs: 50 });
    await Bun.sleep(CLEARING_MS);
  };
  const bare = async (): Promise<number> => halves.bare(rest);
  for (let pair = 0; pair < halves.count; pair += 1) {
    if (agent !== undefined) {
      times.agent.push(await halves.agent(agent, rest));
      await settled(agent.pid, { quietMs: 50 });
    }
    times.bare.push(await (agent?.paused(bare) ?? bare()));
  }
  return times;
}
