// What containerd, the agent's own words and the broker say of a pod.

import { parse } from "yaml";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import type { PrivateContainerd } from "../harness/private-containerd.ts";
import { listTasks } from "../harness/watch-containerd.ts";

/** Running app containers of one agent. Asks only for its own: the others' come and go all the time. */
export async function appsOf(
  containerd: PrivateContainerd,
  instance: string,
): Promise<readonly { readonly id: string; readonly pod: string }[]> {
  const filter = `labels."agent/instance"==${instance},labels."io.cri-containerd.kind"==container`;
  return eventually("the list of containers is whole", async () => {
    const listed = await containerd.ctr("containers", "list", "--quiet", filter);
    const tasks = await listTasks(containerd);
    const running = tasks.filter(({ status }) => status === "RUNNING").map(({ id }) => id);
    const ids = listed.split("\n").filter((id) => running.includes(id));
    return Promise.all(
      ids.map(async (id) => {
        const info = JSON.parse(await containerd.ctr("containers", "info", id)) as ContainerInfo;
        return { id, pod: info.Labels["io.kubernetes.pod.name"] ?? "?" };
      }),
    );
  });
}

interface ContainerInfo {
  readonly Labels: Readonly<Record<string, string>>;
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
