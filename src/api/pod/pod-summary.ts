// A pod in one word and three numbers, as kubectl prints it: the columns READY, STATUS and RESTARTS. kubectl: printPod

import type { ContainerState, ContainerStatus, PodStatus } from "../v1/pod-status.ts";

/** As much of a pod as the columns speak of; whatever is absent is not known yet. */
export interface SummarizedPod {
  readonly spec: {
    readonly containers: readonly { readonly name: string }[];
    readonly initContainers?: readonly {
      readonly name: string;
      readonly restartPolicy?: string;
    }[];
  };
  readonly status: Partial<PodStatus>;
}

export interface PodSummary {
  /** `Running`, `CrashLoopBackOff`, `Init:0/2`, `Terminating`, … */
  readonly status: string;
  readonly ready: number;
  /** App containers and sidecars. */
  readonly containers: number;
  readonly restarts: number;
  /** RFC 3339 of the newest end of a container that was restarted. */
  readonly lastRestart?: string;
}

export function summarizePod(pod: SummarizedPod, terminating: boolean): PodSummary {
  const init = initProgress(pod);
  const main = pod.status.containerStatuses ?? [];
  const isInitializing = init.blocking !== undefined && !isConditionTrue(pod, "Initialized");
  const counted = isInitializing ? init.visited : [...init.visited.filter(isOf(init)), ...main];
  const lastRestart = newestEnd(counted);
  const apps = isInitializing ? 0 : main.filter(isRunningReady).length;
  return {
    status: statusWord(pod, { init, isInitializing, terminating }),
    ready: init.ready + apps,
    containers: pod.spec.containers.length + init.sidecars.size,
    restarts: counted.reduce((sum, status) => sum + status.restartCount, 0),
    ...(lastRestart === undefined ? {} : { lastRestart }),
  };
}

/** The init container that holds up the pod, or the sidecar that is down. */
interface InitBlock {
  /** `Init:0/2`, `Init:CrashLoopBackOff`, `Init:Error`, … */
  readonly word: string;
  readonly status: ContainerStatus;
}

/** undefined = every init container is done, every sidecar has started. */
export function initBlock(pod: SummarizedPod): InitBlock | undefined {
  return initProgress(pod).blocking;
}

export function isConditionTrue({ status }: Pick<SummarizedPod, "status">, type: string): boolean {
  return (status.conditions ?? []).some(
    (condition) => condition.type === type && condition.status === "True",
  );
}

interface InitProgress {
  readonly sidecars: ReadonlySet<string>;
  /** Up to the blocking one: kubectl looks no further. */
  readonly visited: readonly ContainerStatus[];
  /** Sidecars that are ready. */
  readonly ready: number;
  readonly blocking: InitBlock | undefined;
}

function initProgress({
  spec,
  status: { initContainerStatuses = [] },
}: SummarizedPod): InitProgress {
  const init = spec.initContainers ?? [];
  const always = init.filter(({ restartPolicy }) => restartPolicy === "Always");
  const sidecars = new Set(always.map(({ name }) => name));
  const isUp = ({ name, started }: ContainerStatus): boolean => sidecars.has(name) && started;
  const index = initContainerStatuses.findIndex(
    (status) => status.state.terminated?.exitCode !== 0 && !isUp(status),
  );
  const done = index < 0 ? initContainerStatuses : initContainerStatuses.slice(0, index);
  const status = initContainerStatuses[index];
  return {
    sidecars,
    visited: status === undefined ? done : [...done, status],
    ready: done.filter((one) => isUp(one) && one.ready).length,
    blocking:
      status === undefined
        ? undefined
        : { word: `Init:${whyNotDone(status) ?? `${index}/${init.length}`}`, status },
  };
}

function isOf({ sidecars }: InitProgress): (status: ContainerStatus) => boolean {
  return ({ name }) => sidecars.has(name);
}

/** undefined = it only takes its time. */
function whyNotDone({ state }: ContainerStatus): string | undefined {
  const word = stateWord(state);
  return word === "PodInitializing" && state.waiting !== undefined ? undefined : word;
}

interface Wording {
  readonly init: InitProgress;
  readonly isInitializing: boolean;
  readonly terminating: boolean;
}

function statusWord(pod: SummarizedPod, { init, isInitializing, terminating }: Wording): string {
  const { phase } = pod.status;
  if (terminating && phase !== "Succeeded" && phase !== "Failed") return "Terminating";
  const initWord = init.blocking?.word;
  return isInitializing && initWord !== undefined ? initWord : mainWord(pod, initWord);
}

/** The first container with a reason, else the sidecar that is down, else the pod's own reason or phase. */
function mainWord(pod: SummarizedPod, initWord: string | undefined): string {
  const { containerStatuses: statuses = [], reason, phase } = pod.status;
  const reported = statuses.map(({ state }) => stateWord(state)).find((word) => word !== undefined);
  const word = reported ?? initWord ?? nonEmpty(reason) ?? phase ?? "Unknown";
  if (word !== "Completed" || !statuses.some(isRunningReady)) return word;
  return isConditionTrue(pod, "Ready") ? "Running" : "NotReady";
}

function stateWord({ waiting, terminated }: ContainerState): string | undefined {
  const reason = nonEmpty(waiting?.reason);
  if (reason !== undefined) return reason;
  return terminated === undefined ? undefined : endWord(terminated);
}

function endWord(ended: NonNullable<ContainerState["terminated"]>): string {
  if (ended.reason !== "") return ended.reason;
  const signal = ended.signal ?? 0;
  return signal === 0 ? `ExitCode:${ended.exitCode}` : `Signal:${signal}`;
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
