// What the demo needs to know of the pods that `agent get pods -o json` lists.

import { z } from "zod";

import type { AgentProcess } from "./agent-process.ts";

const podList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), namespace: z.string() }),
      status: z
        .object({
          phase: z.string().optional(),
          conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
          containerStatuses: z
            .array(
              z.object({
                ready: z.boolean().optional(),
                restartCount: z.number().optional(),
                state: z.record(z.string(), z.unknown()).optional(),
              }),
            )
            .optional(),
        })
        .optional(),
    }),
  ),
});

export type PodList = z.infer<typeof podList>;

export async function listPods(agent: AgentProcess): Promise<PodList> {
  const { code, stdout, stderr } = await agent.cli("get", "pods", "-A", "-o", "json");
  if (code !== 0) throw new Error(`agent get pods ended with ${code}: ${stderr}`);
  return podList.parse(JSON.parse(stdout));
}

/** Changes when the table is worth printing again: ages do not count. */
export function podsKey(pods: PodList): string {
  return JSON.stringify(
    pods.items.map(({ metadata, status }) => [
      metadata.namespace,
      metadata.name,
      status?.phase,
      // What is ours among them stands beside the status.
      status?.conditions?.filter(({ type }) => type.startsWith("agent/")),
      status?.containerStatuses?.map((each) => [
        each.ready,
        each.restartCount,
        Object.keys(each.state ?? {}),
      ]),
    ]),
  );
}

/** Names of pods that run with every container ready. */
export function runningPods(pods: PodList): readonly string[] {
  return pods.items
    .filter(({ status }) => status?.phase === "Running")
    .filter(
      ({ status }) => status?.containerStatuses?.every((each) => each.ready === true) === true,
    )
    .map(({ metadata }) => metadata.name);
}
