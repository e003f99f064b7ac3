// What the demo needs to know of the pods that the agent lists.

import { isListOf, isPod, type PodView } from "../../src/node/api-views.ts";
import type { AgentProcess } from "./agent-process.ts";

export interface PodList {
  readonly items: readonly PodView[];
}

const isPodList = isListOf(isPod);

export async function listPods(agent: AgentProcess): Promise<PodList> {
  const response = await agent.api("/pods");
  const pods: unknown = await response.json();
  if (!isPodList(pods)) throw new Error(`/pods is no list: ${JSON.stringify(pods)}`);
  return pods;
}

/** Changes when the table is worth printing again: ages do not count. */
export function podsKey(pods: PodList): string {
  return JSON.stringify(
    pods.items.map(({ metadata, status }) => [
      metadata.namespace,
      metadata.name,
      status.phase,
      // What is ours among them stands beside the status.
      status.conditions?.filter(({ type }) => type.startsWith("agent/")),
      status.containerStatuses?.map((each) => [
        each.ready,
        each.restartCount,
        Object.keys(each.state),
      ]),
    ]),
  );
}

/** Names of pods that run with every container ready. */
export function runningPods(pods: PodList): readonly string[] {
  return pods.items
    .filter(({ status }) => status.phase === "Running")
    .filter(({ status }) => status.containerStatuses?.every((each) => each.ready) === true)
    .map(({ metadata }) => metadata.name);
}
