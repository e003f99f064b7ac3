// What containerd, the agent's own words and the broker say of a pod.

import { parse } from "yaml";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import type { PrivateContainerd } from "../harness/private-containerd.ts";
import { listContainers, listTasks } from "../harness/containerd-lists.ts";

/** Running app containers of one agent. Asks only for its own: the others' come and go all the time. */
export async function appsOf(
  containerd: PrivateContainerd,
  instance: string,
): Promise<readonly { readonly id: string; readonly pod: string }[]> {
  return eventually("the list of containers is whole", async () => {
    const [containers, tasks] = [await listContainers(containerd), await listTasks(containerd)];
    const running = new Set(tasks.filter(({ status }) => status === "RUNNING").map(({ id }) => id));
    return containers
      .filter(
        ({ id, labels }) =>
          labels["agent/instance"] === instance &&
          labels["io.cri-containerd.kind"] === "container" &&
          running.has(id),
      )
      .map(({ id, labels }) => ({ id, pod: labels["io.kubernetes.pod.name"] ?? "?" }));
  });
}

export interface ToldEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly object: { readonly kind: string; readonly namespace?: string; readonly name: string };
}

export function eventsOf(payload: string): readonly ToldEvent[] {
  return payload === "" ? [] : (JSON.parse(payload) as { events: readonly ToldEvent[] }).events;
}

/** `agent get pods`: the pod's line of the table, and the condition that it was taken back. */
export async function shownOf(
  agent: AgentProcess,
  pod: string,
): Promise<{
  readonly line: string | undefined;
  readonly condition: Readonly<Record<string, unknown>> | undefined;
}> {
  const { stdout } = await agent.cli("get", "pods");
  const line = stdout.split("\n").find((one) => one.startsWith(`${pod} `));
  const whole = await agent.cli("get", "pods", pod, "-o", "yaml");
  const { status } = parse(whole.stdout) as {
    readonly status: { readonly conditions: readonly Readonly<Record<string, unknown>>[] };
  };
  return { line, condition: status.conditions.find(({ type }) => type === "agent/RolledBack") };
}
