// One word and two numbers about a pod, as kubectl computes them. kubectl: printPod

import type { ContainerState, ContainerStatus } from "../api/pod-status.ts";
import type { PodView } from "./api-views.ts";

export interface PodSummary {
  /** `Running`, `CrashLoopBackOff`, `Init:0/2`, `Terminating`, … */
  readonly status: string;
  readonly ready: number;
  readonly containers: number;
  readonly restarts: number;
  /** RFC 3339 of the newest end of a container that was restarted. */
  readonly lastRestart?: string;
}

/** The condition of a pod that still runs while its replacement pulls or waits. */
const UPDATE_PENDING = "agent/UpdatePending";

/** What the columns READY, STATUS and RESTARTS say. */
export function summarizePod(pod: PodView): PodSummary {
  const init = initProgress(pod);
  const main = pod.status.containerStatuses ?? [];
  const initializing = init.word !== undefined && !isConditionTrue(pod, "Initialized");
  const counted = initializing ? init.statuses : [...init.sidecars, ...main];
  const lastRestart = newestEnd(counted);
  return {
    status: withPending(pod, statusWord(pod, initializing ? init.word : undefined)),
    ready: [...init.sidecars, ...(initializing ? [] : main)].filter(isRunningReady).length,
    containers: pod.spec.containers.length + init.sidecarCount,
    restarts: counted.reduce((sum, status) => sum + status.restartCount, 0),
    ...(lastRestart === undefined ? {} : { lastRestart }),
  };
}

function statusWord(pod: PodView, initWord: string | undefined): string {
  const finished = pod.status.phase === "Succeeded" || pod.status.phase === "Failed";
  if (pod.metadata.deletionTimestamp !== undefined && !finished) return "Terminating";
  return initWord ?? mainWord(pod);
}

/** The first container that has something to say, else the pod's own reason, else its phase. */
function mainWord(pod: PodView): string {
  const statuses = pod.status.containerStatuses ?? [];
  const said = statuses.map((status) => stateWord(status.state)).find((word) => word !== undefined);
  const word = said ?? nonEmpty(pod.status.reason) ?? pod.status.phase ?? "Unknown";
  if (word !== "Completed" || !statuses.some(isRunningReady)) return word;
  return isConditionTrue(pod, "Ready") ? "Running" : "NotReady";
}

function stateWord(state: ContainerState): string | undefined {
  const waiting = nonEmpty(state.waiting?.reason);
  if (waiting !== undefined) return waiting;
  return state.terminated === undefined ? undefined : endWord(state.terminated);
}

function endWord(ended: NonNullable<ContainerState["terminated"]>): string {
  if (ended.reason !== "") return ended.reason;
  const signal = ended.signal ?? 0;
  return signal === 0 ? `ExitCode:${ended.exitCode}` : `Signal:${signal}`;
}

interface InitProgress {
  /** `Init:…` of the first init container that is not done; undefined when all are. */
  readonly word: string | undefined;
  readonly statuses: readonly ContainerStatus[];
  /** Those with restartPolicy Always: they count like app containers. */
  readonly sidecars: readonly ContainerStatus[];
  readonly sidecarCount: number;
}

function initProgress(pod: PodView): InitProgress {
  const specs = pod.spec.initContainers ?? [];
  const always = new Set(
    specs.filter((spec) => spec.restartPolicy === "Always").map((spec) => spec.name),
  );
  const statuses = pod.status.initContainerStatuses ?? [];
  const blocking = statuses.findIndex((status) => !isInitDone(status, always.has(status.name)));
  const blocked = statuses[blocking];
  return {
    word: blocked === undefined ? undefined : initWord(blocked, blocking, specs.length),
    statuses,
    sidecars: statuses.filter((status) => always.has(status.name)),
    sidecarCount: always.size,
  };
}

function isInitDone(status: ContainerStatus, sidecar: boolean): boolean {
  return sidecar ? status.started : status.state.terminated?.exitCode === 0;
}

function initWord(status: ContainerStatus, index: number, total: number): string {
  const ended = status.state.terminated;
  if (ended !== undefined) return `Init:${endWord(ended)}`;
  const waiting = nonEmpty(status.state.waiting?.reason);
  if (waiting !== undefined && waiting !== "PodInitializing") return `Init:${waiting}`;
  return `Init:${index}/${total}`;
}

function withPending(pod: PodView, word: string): string {
  return isConditionTrue(pod, UPDATE_PENDING) ? `${word} (update pending)` : word;
}

function isConditionTrue(pod: PodView, type: string): boolean {
  return (pod.status.conditions ?? []).some(
    (condition) => condition.type === type && condition.status === "True",
  );
}

function isRunningReady(status: ContainerStatus): boolean {
  return status.ready && status.state.running !== undefined;
}

function newestEnd(statuses: readonly ContainerStatus[]): string | undefined {
  return statuses
    .flatMap((status) => status.lastState.terminated?.finishedAt ?? [])
    .toSorted()
    .at(-1);
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
