// How the local API tells of pods and events, and waiting for what it will say.

import type { ContainerStatus, PodCondition } from "../../src/api/v1/pod-status.ts";
import { isListOf, isPod, type PodView } from "../../src/node/api-views.ts";
import type { eventList } from "../../src/node/events-list.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";

type V1EventList = ReturnType<typeof eventList>;
type V1Event = V1EventList["items"][number];

/** What an event has to be like; what is absent does not matter. */
export interface WantedEvent {
  readonly reason: string;
  readonly type?: V1Event["type"];
  readonly message?: RegExp;
  /** Name of the container it is about. */
  readonly container?: string;
  /** It was said at least so often. */
  readonly count?: number;
}

const TIMEOUT = 60_000;

/** Undefined when the agent knows no pod of this name. */
export async function findPod(agent: AgentProcess, name: string): Promise<PodView | undefined> {
  const list = await get(agent, "/pods");
  if (!isListOf(isPod)(list)) throw new Error(`/pods gave no list: ${JSON.stringify(list)}`);
  return list.items.find((pod) => pod.metadata.name === name);
}

export async function podOf(agent: AgentProcess, name: string): Promise<PodView> {
  const pod = await findPod(agent, name);
  if (pod === undefined) throw new Error(`the agent knows no pod ${name}`);
  return pod;
}

/** Waits until the pod is as wanted, and gives it. */
export async function untilPod(
  agent: AgentProcess,
  name: string,
  { is, when, timeout = TIMEOUT }: PodWish,
): Promise<PodView> {
  let last: PodView | undefined;
  return eventually(
    `${name} ${is}`,
    async () => {
      last = await podOf(agent, name);
      return when(last) ? last : undefined;
    },
    { timeout, interval: 50, explain: () => explained(agent, last) },
  );
}

export interface PodWish {
  /** `is ready`. */
  readonly is: string;
  readonly when: (pod: PodView) => boolean;
  readonly timeout?: number;
}

export const READY: PodWish = { is: "is ready", when: (pod) => isTrue(pod, "Ready") };

export function inPhase(phase: string): PodWish {
  return { is: `is ${phase}`, when: (pod) => pod.status.phase === phase };
}

export async function untilGone(
  agent: AgentProcess,
  name: string,
  timeout = TIMEOUT,
): Promise<void> {
  let last: PodView | undefined;
  await eventually(
    `the agent has forgotten ${name}`,
    async () => {
      last = await findPod(agent, name);
      return last === undefined;
    },
    { timeout, interval: 50, explain: () => explained(agent, last) },
  );
}

/** Of an init container, a sidecar, or an app container. */
export function containerOf(pod: PodView, name: string): ContainerStatus {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status;
  const found = [...initContainerStatuses, ...containerStatuses].find(
    (status) => status.name === name,
  );
  if (found === undefined) throw new Error(`${pod.metadata.name} has no status of ${name}`);
  return found;
}

/** The id containerd knows it by. */
export function idOf(status: ContainerStatus): string {
  const id = status.containerID.replace("containerd://", "");
  if (id === "") throw new Error(`${status.name} has no container`);
  return id;
}

export function conditionOf(pod: PodView, type: string): PodCondition | undefined {
  return pod.status.conditions?.find((condition) => condition.type === type);
}

export function isTrue(pod: PodView, type: string): boolean {
  return conditionOf(pod, type)?.status === "True";
}

/** Events about one pod and its containers. */
export async function eventsOf(agent: AgentProcess, pod: string): Promise<readonly V1Event[]> {
  const { items } = (await get(agent, "/events")) as V1EventList;
  return items.filter(({ involvedObject: { kind, name } }) => kind === "Pod" && name === pod);
}

/** Waits for an event about a pod, from now or before. */
export async function untilEvent(
  agent: AgentProcess,
  pod: string,
  wanted: WantedEvent,
): Promise<V1Event> {
  let last: readonly V1Event[] = [];
  return eventually(
    `an event ${wanted.reason} of ${pod} ${wanted.message ?? ""}`,
    async () => {
      last = await eventsOf(agent, pod);
      return last.find((event) => isWanted(event, wanted));
    },
    {
      timeout: TIMEOUT,
      interval: 50,
      explain: () => `events: ${JSON.stringify(last, undefined, 1)}\n${agent.logTail()}`,
    },
  );
}

/** Columns of `agent get pods NAME`: `{name, ready: "1/1", status, restarts}`. */
export async function rowOf(
  agent: AgentProcess,
  name: string,
): Promise<{ readonly ready: string; readonly status: string; readonly restarts: number }> {
  const { code, stdout, stderr } = await agent.cli("get", "pods", name);
  if (code !== 0) throw new Error(`agent get pods ${name} ended with ${code}: ${stderr}`);
  const row = stdout.split("\n").find((line) => line.startsWith(`${name} `));
  const [, ready = "", status = "", restarts = ""] = row?.split(/ {2,}/) ?? [];
  return { ready, status, restarts: Number.parseInt(restarts, 10) };
}

function isWanted(event: V1Event, wanted: WantedEvent): boolean {
  const { reason, type, message, container, count = 1 } = wanted;
  return (
    event.reason === reason &&
    (type === undefined || event.type === type) &&
    (message === undefined || message.test(event.message)) &&
    (container === undefined ||
      event.involvedObject.fieldPath?.includes(`{${container}}`) === true) &&
    event.count >= count
  );
}

function explained(agent: AgentProcess, pod: PodView | undefined): string {
  return `its status: ${JSON.stringify(pod?.status, undefined, 1)}\n${agent.logTail()}`;
}

async function get(agent: AgentProcess, path: string): Promise<unknown> {
  const response = await agent.api(path);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
