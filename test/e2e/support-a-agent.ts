// What the tests ask an agent: its pods, its node, what it refused.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Rejection } from "../../src/api/pod/desired-pod.ts";
import type { ContainerStatus, NodeCondition } from "../../src/api/v1/pod-status.ts";
import type { NodeView, PodView } from "../../src/node/api-views.ts";
import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";

// Over the socket, not by `agent get`: a process for every look would take the cores from what is looked at.

const PODS = "/api/v1/namespaces/default/pods";

/** The pods of the default namespace. */
export async function getPods(agent: AgentProcess): Promise<readonly PodView[]> {
  const { items } = (await json(agent, PODS)) as { readonly items: readonly PodView[] };
  return items;
}

/** Throws when there is none of this name. */
export async function getPod(agent: AgentProcess, name: string): Promise<PodView> {
  return (await json(agent, `${PODS}/${name}`)) as PodView;
}

/** The status of its only container. */
export async function getContainer(agent: AgentProcess, pod: string): Promise<ContainerStatus> {
  const [status] = (await getPod(agent, pod)).status.containerStatuses ?? [];
  if (status === undefined) throw new Error(`${pod} has no status of a container`);
  return status;
}

/** The only one. */
export async function getNode(agent: AgentProcess): Promise<NodeView> {
  const nodes = await json(agent, "/api/v1/nodes");
  const [node] = (nodes as { readonly items: readonly NodeView[] }).items;
  if (node === undefined) throw new Error("there is no node");
  return node;
}

export async function nodeCondition(
  agent: AgentProcess,
  type: string,
): Promise<NodeCondition | undefined> {
  return (await getNode(agent)).status.conditions?.find((condition) => condition.type === type);
}

export async function getRejected(agent: AgentProcess): Promise<readonly Rejection[]> {
  const response = await agent.api("/rejected");
  if (!response.ok) throw new Error(`/rejected: ${response.status} ${await response.text()}`);
  return (await response.json()) as readonly Rejection[];
}

/** Starts the agent in a UTS namespace of its own, where the machine has another name. */
export function startWithHostname(agent: AgentProcess, hostname: string): void {
  const wrapper = join(agent.paths.directory, "agent-elsewhere");
  const inside = `hostname ${hostname} && exec "$0" "$@"`;
  writeFileSync(
    wrapper,
    `#!/bin/sh\nexec unshare --uts sh -c '${inside}' ${agentBinary()} "$@"\n`,
    { mode: 0o755 },
  );
  agent.start(wrapper);
}

async function json(agent: AgentProcess, path: string): Promise<unknown> {
  const response = await agent.api(path);
  const body = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${body}`);
  return JSON.parse(body) as unknown;
}
