// What the tests ask an agent: its pods, its node, what it refused.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Rejection } from "../../src/api/pod/desired-pod.ts";
import type { ContainerStatus, NodeCondition } from "../../src/api/v1/pod-status.ts";
import type { NodeView, PodView } from "../../src/cli/api-views.ts";
import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";

/** `agent get pods -o json`. */
export async function getPods(agent: AgentProcess): Promise<readonly PodView[]> {
  const { items } = (await json(agent, "get", "pods", "-o", "json")) as {
    readonly items: readonly PodView[];
  };
  return items;
}

/** `agent get pods NAME -o json`; throws when there is none of this name. */
export async function getPod(agent: AgentProcess, name: string): Promise<PodView> {
  return (await json(agent, "get", "pods", name, "-o", "json")) as PodView;
}

/** The status of its only container. */
export async function getContainer(agent: AgentProcess, pod: string): Promise<ContainerStatus> {
  const [status] = (await getPod(agent, pod)).status.containerStatuses ?? [];
  if (status === undefined) throw new Error(`${pod} has no status of a container`);
  return status;
}

export async function getNode(agent: AgentProcess): Promise<NodeView> {
  return (await json(agent, "get", "node", "-o", "json")) as NodeView;
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

async function json(agent: AgentProcess, ...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await agent.cli(...args);
  if (code !== 0) throw new Error(`agent ${args.join(" ")} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as unknown;
}
