// What a newcomer learns of a node from its broker, held against what the node itself and containerd say.

import type { PodStatus } from "../../src/api/v1/pod-status.ts";
import type {
  Ack,
  LastRejected,
  PodReport,
  ReportedState,
} from "../../src/protocol/reported-state.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import type { Broker } from "../harness/broker.ts";
import type { BrokerMessage } from "../harness/broker-client.ts";
import { eventually } from "../harness/eventually.ts";
import type { PrivateContainerd } from "../harness/private-containerd.ts";
import { listTasks } from "../harness/containerd-lists.ts";
import { topicOf, type State } from "./support-b-upstream.ts";

/** Everything that is retained of one node. */
export interface Told {
  readonly state: State | undefined;
  readonly report: ReportedState | undefined;
  /** By pod, `namespace/name`. */
  readonly pods: ReadonlyMap<string, PodReport>;
}

export interface Expected {
  /** Of `reported.desired`, source node: at least these fields. */
  readonly ack: Partial<Omit<Ack, "lastRejected">> & {
    readonly lastRejected?: Partial<LastRejected>;
  };
  /** Also the topics of pods that are gone may be there: an older copy of the broker brings them back. */
  readonly mayBeStale?: boolean;
}

/** Of the local API. */
interface OwnPod {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly status: PodStatus;
}

const TOLD_WITHIN_MS = 60_000;

/** By a client of its own, as it is at this moment. */
export async function toldBy(broker: Broker, node: string): Promise<Told> {
  await using client = await broker.client();
  const collector = await client.collect(topicOf(node, "#"));
  // What is retained comes in the order of the subscriptions: all of it is there before this answer.
  await client.retained("harness/nothing");
  const kept = collector.messages.filter(({ retain, payload }) => retain && payload !== "");
  const root = topicOf(node, "reported/pod/");
  const pods = kept.filter(({ topic }) => topic.startsWith(root));
  return {
    state: parsed<State>(kept.find(({ topic }) => topic === topicOf(node, "state"))),
    report: parsed<ReportedState>(kept.find(({ topic }) => topic === topicOf(node, "reported"))),
    pods: new Map(
      pods.map(({ topic, payload }) => [
        topic.slice(root.length),
        JSON.parse(payload) as PodReport,
      ]),
    ),
  };
}

function parsed<T>(message: BrokerMessage | undefined): T | undefined {
  return message === undefined ? undefined : (JSON.parse(message.payload) as T);
}

/** How often the node has got a connection. */
export function connects(agent: AgentProcess): number {
  return sessions(agent).length;
}

function sessions(agent: AgentProcess): readonly number[] {
  return agent
    .logLines()
    .filter(({ msg }) => msg === "connected to the broker")
    .map((line) => Number(line["session"]));
}

/** Waits for one more connection than `before`, then for the truth on the broker, 30 s at most. */
export async function isToldAgain(
  doors: NodeDoors,
  before: number,
  expected: Expected,
): Promise<void> {
  const { agent } = doors;
  await eventually(`${agent.nodeName} is connected again`, () => connects(agent) > before, {
    timeout: 60_000,
    explain: () => agent.logTail(),
  });
  const connectedAt = performance.now();
  await isTold(doors, expected);
  const seconds = ((performance.now() - connectedAt) / 1_000).toFixed(1);
  console.log(`${agent.nodeName}: right ${seconds} s after the reconnection, of 30 s allowed`);
}

/** Waits for the truth on the broker. */
export async function isTold(
  doors: NodeDoors,
  expected: Expected,
  timeout = TOLD_WITHIN_MS,
): Promise<void> {
  const { agent } = doors;
  await eventually(
    `what the broker retains of ${agent.nodeName} is right`,
    async () => {
      const wrong = await mistakes(doors, expected);
      if (wrong.length > 0) throw new Error(wrong.join("\n"));
      return true;
    },
    { timeout, interval: 500, explain: () => agent.logTail() },
  );
}

export interface NodeDoors {
  readonly agent: AgentProcess;
  readonly broker: Broker;
  readonly containerd: PrivateContainerd;
}

/** Every way in which the broker's picture differs from the node's own; empty = it is right. */
export async function mistakes(
  { agent, broker, containerd }: NodeDoors,
  { ack, mayBeStale = false }: Expected,
): Promise<readonly string[]> {
  const { state, report, pods } = await toldBy(broker, agent.nodeName);
  const own = await ownPods(agent);
  const wrong: string[] = [];
  const same = (what: string, found: unknown, wanted: unknown): void => {
    if (Bun.deepEquals(found, wanted)) return;
    wrong.push(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  };

  same("state", [state?.state, state?.session], ["online", sessions(agent).at(-1)]);
  same("incarnation", report?.incarnation, state?.incarnation);
  const answer = report?.desired.find(({ source }) => source === "node");
  if (answer === undefined || !Bun.deepMatch(ack, answer))
    wrong.push(`reported.desired: ${JSON.stringify(answer)} is not like ${JSON.stringify(ack)}`);
  same("reported.pods", report?.pods.map(lineOf), own.map(ownLineOf));
  for (const pod of own) {
    const told = pods.get(nameOf(pod));
    const { uid } = pod.metadata;
    same(
      `topic of ${nameOf(pod)}`,
      [told?.uid, withoutEmpty(told?.status)],
      [uid, asReported(pod)],
    );
  }
  if (!mayBeStale) same("pod topics", [...pods.keys()].toSorted(), own.map(nameOf));
  if (wrong.length > 0) return wrong;
  const running = await runningIds(containerd, agent.nodeName);
  same("running containers", own.flatMap(idsOf).toSorted(), running.toSorted());
  return wrong;
}

/** The local API leaves empty lists out, as Kubernetes does. */
function withoutEmpty(status: PodStatus | undefined): object {
  const entries = Object.entries(status ?? {});
  return Object.fromEntries(entries.filter(([, value]) => !Bun.deepEquals(value, [])));
}

/** What the spec contains is not reported. */
function asReported({ status }: OwnPod): object {
  const { containerStatuses } = status;
  const ofSpec: Record<string, undefined> = {
    allocatedResources: undefined,
    resources: undefined,
    volumeMounts: undefined,
  };
  const states = containerStatuses.map((one) => ({ ...one, ...ofSpec }));
  return JSON.parse(JSON.stringify({ ...status, containerStatuses: states })) as object;
}

/** What the local API says, by name. */
async function ownPods(agent: AgentProcess): Promise<readonly OwnPod[]> {
  const response = await agent.api("/pods");
  if (!response.ok) throw new Error(`/pods: ${response.status} ${await response.text()}`);
  const { items } = (await response.json()) as { readonly items: readonly OwnPod[] };
  return items.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

function nameOf({ metadata: { namespace, name } }: OwnPod): string {
  return `${namespace}/${name}`;
}

function lineOf(line: ReportedState["pods"][number]): unknown {
  const { namespace, name, uid, phase, ready, restarts } = line;
  return { namespace, name, uid, phase, ready, restarts };
}

function ownLineOf({ metadata: { namespace, name, uid }, status }: OwnPod): unknown {
  const all = status.containerStatuses;
  const ready = `${all.filter((one) => one.ready).length}/${all.length}`;
  const restarts = all.reduce((sum, { restartCount }) => sum + restartCount, 0);
  return { namespace, name, uid, phase: status.phase, ready, restarts };
}

/** App containers of one agent whose task runs, with few questions: the machine has more to do. */
async function runningIds(
  containerd: PrivateContainerd,
  instance: string,
): Promise<readonly string[]> {
  const filter = `labels."agent/instance"==${instance},labels."io.cri-containerd.kind"==container`;
  const own = await containerd.ctr("containers", "list", "--quiet", filter);
  const tasks = await listTasks(containerd);
  const running = new Set(tasks.filter(({ status }) => status === "RUNNING").map(({ id }) => id));
  return own.split("\n").filter((id) => running.has(id));
}

/** Of the running ones, as containerd calls them. */
function idsOf({ status }: OwnPod): readonly string[] {
  return status.containerStatuses
    .filter(({ state }) => state.running !== undefined)
    .map(({ containerID }) => containerID.replace("containerd://", ""));
}
