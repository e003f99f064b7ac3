// The statuses of a pod's containers: the runtime's two newest instances, what was known before,
// and why the next one waits. kubelet: convertToAPIContainerStatuses

import type { ObservedContainer, ObservedPod } from "../api/pod/observed-pod.ts";
import type {
  ContainerState,
  ContainerStatus,
  PodContainerStatuses,
} from "../api/v1/pod-status.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { allContainers, isSidecar, type Pod } from "../api/v1/pod.ts";
import { sharedMessage } from "./termination-share.ts";
import { containerID, containerState, lostContainer } from "./container-state.ts";
import { startedAndReady } from "./container-started.ts";
import type { PodFacts } from "./facts.ts";
import { currentSandbox } from "../api/pod/newest-observed.ts";
import { isEnding, startsAgain } from "./starts-again.ts";
import { terminatedStatuses } from "./terminated-statuses.ts";
import type { Container } from "../api/v1/container.ts";

export interface ContainerStatusesInput {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly facts: PodFacts;
  /** The status before; undefined = the pod is new. */
  readonly previous: PodContainerStatuses | undefined;
}

/** One status per container of the spec, in the spec's order. */
export function containerStatuses(all: ContainerStatusesInput): PodContainerStatuses {
  const { spec } = all.pod;
  const input = { ...all, observed: withSharedMessages(all.observed, spec) };
  const { initContainerStatuses = [], containerStatuses: appStatuses = [] } = input.previous ?? {};
  const statuses = {
    initContainerStatuses: spec.initContainers.map((container) =>
      statusOf(container, named(initContainerStatuses, container), input),
    ),
    containerStatuses: spec.containers.map((container) =>
      statusOf(container, named(appStatuses, container), input),
    ),
  };
  return input.facts.terminated === true ? terminatedStatuses(spec, statuses) : statuses;
}

/** The termination messages of all containers share one limit. */
function withSharedMessages(
  observed: ObservedPod | undefined,
  spec: PodSpec,
): ObservedPod | undefined {
  if (observed?.containers.some(({ message }) => message !== "") !== true) return observed;
  const count = allContainers(spec).length;
  const containers = observed.containers.map((container) => ({
    ...container,
    message: sharedMessage(container.message, count),
  }));
  return { ...observed, containers };
}

function named(
  statuses: readonly ContainerStatus[],
  { name }: Container,
): ContainerStatus | undefined {
  return statuses.find((status) => status.name === name);
}

function statusOf(
  container: Container,
  previous: ContainerStatus | undefined,
  input: ContainerStatusesInput,
): ContainerStatus {
  const instances = input.observed?.containers.filter(({ name }) => name === container.name) ?? [];
  const [newest, ...before] = instances;
  const older = before.find(({ state }) => state === "Exited" || state === "Unknown");
  const known =
    newest === undefined
      ? assumedDone(fromMemory(container, previous, input), container, input)
      : fromRuntime({ container, newest, older }, input.facts, previous);
  const status = waitingToStart(known, { container, newest }, input);
  const { spec } = input.pod;
  const verdicts = newest === undefined ? undefined : input.facts.probes?.[newest.id];
  return { ...status, ...startedAndReady({ spec, container, state: status.state, verdicts }) };
}

interface Instances {
  readonly container: Container;
  readonly newest: ObservedContainer;
  /** The newest of those before it that ended. */
  readonly older: ObservedContainer | undefined;
}

function fromRuntime(
  { container, newest, older }: Instances,
  facts: PodFacts,
  previous: ContainerStatus | undefined,
): ContainerStatus {
  const { stopSignal } = container.lifecycle;
  return {
    name: newest.name,
    state: isHookPending(newest, facts) ? CREATING : containerState(newest),
    lastState: older === undefined ? earlierState(newest, previous) : containerState(older),
    ready: false,
    started: false,
    // One that was lost is counted although the next may get its number: a count never falls.
    restartCount: Math.max(restartsUntil(newest, older), previous?.restartCount ?? 0),
    image: newest.image,
    imageID: newest.imageID,
    containerID: containerID(newest.id),
    ...(stopSignal === undefined ? {} : { stopSignal }),
  };
}

/** A container that never started is no restart: it may be removed again, and its attempt number with it. */
function restartsUntil(newest: ObservedContainer, older: ObservedContainer | undefined): number {
  if (newest.state !== "Created") return newest.attempt;
  return older?.attempt ?? Math.max(0, newest.attempt - 1);
}

const CREATING: ContainerState = { waiting: { reason: "ContainerCreating" } };

// kubelet: the status of a container does not change before its postStart hook has ended.
function isHookPending({ name, state }: ObservedContainer, facts: PodFacts): boolean {
  return state === "Running" && facts.starting?.includes(name) === true;
}

// The record of the instance before may have been collected since: keep its last status,
// but never repeat the present instance as its own predecessor.
function earlierState(
  newest: ObservedContainer,
  previous: ContainerStatus | undefined,
): ContainerState {
  if (previous === undefined) return {};
  const now = containerID(newest.id);
  const ended = previous.state.terminated;
  if (ended !== undefined && ended.containerID !== now) return { terminated: ended };
  const last = previous.lastState.terminated;
  return last !== undefined && last.containerID !== now ? { terminated: last } : {};
}

function fromMemory(
  container: Container,
  previous: ContainerStatus | undefined,
  { pod, facts }: ContainerStatusesInput,
): ContainerStatus {
  if (previous?.state.terminated !== undefined) return previous;
  const waiting = {
    ...unborn(container, pod.spec),
    lastState: previous?.lastState ?? {},
    restartCount: previous?.restartCount ?? 0,
  };
  if (previous?.state.running === undefined) return waiting;
  const lost = lostContainer(
    "The container ran, and then the runtime no longer had it",
    previous.containerID,
  );
  if (isEnding(facts)) return { ...waiting, state: { terminated: lost } };
  // The next instance is one restart further: this one's number is spent.
  return { ...waiting, lastState: { terminated: lost }, restartCount: previous.restartCount + 1 };
}

/** The runtime has no instance of it. */
function unborn({ name, image }: Container, { initContainers }: PodSpec): ContainerStatus {
  return {
    name,
    state: initContainers.length > 0 ? INITIALIZING : CREATING,
    lastState: {},
    ready: false,
    started: false,
    restartCount: 0,
    image,
    imageID: "",
    containerID: "",
  };
}

const INITIALIZING: ContainerState = { waiting: { reason: "PodInitializing" } };

/**
 * The record of an init container is gone and the agent has forgotten it; where an app container exists it must have
 * done its work. kubelet: HasAnyRegularContainerCreated
 */
function assumedDone(
  status: ContainerStatus,
  container: Container,
  { pod: { spec }, observed, facts }: ContainerStatusesInput,
): ContainerStatus {
  if (status.state.waiting === undefined || !isPlainInit(spec, container)) return status;
  // It is being started, so it has not completed.
  if (facts.waiting[container.name] !== undefined && !isEnding(facts)) return status;
  if (!isAppCreated(spec, observed)) return status;
  const terminated = {
    exitCode: 0,
    reason: "Completed",
    message:
      "The runtime no longer knows this container; the ones after it were created, so it ended well",
    containerID: "",
  };
  return { ...status, state: { terminated } };
}

/** In the newest sandbox: in a new one the init containers run again. */
function isAppCreated(spec: PodSpec, observed: ObservedPod | undefined): boolean {
  const sandbox = currentSandbox(observed);
  const apps = new Set(spec.containers.map(({ name }) => name));
  return (observed?.containers ?? []).some(
    ({ name, state, sandboxId }) =>
      apps.has(name) && state !== "Unknown" && (sandbox === undefined || sandboxId === sandbox.id),
  );
}

function isPlainInit(spec: PodSpec, container: Container): boolean {
  return spec.initContainers.includes(container) && !isSidecar(spec, container);
}

interface Known {
  readonly container: Container;
  readonly newest: ObservedContainer | undefined;
}

function waitingToStart(
  status: ContainerStatus,
  known: Known,
  input: ContainerStatusesInput,
): ContainerStatus {
  const fact = input.facts.waiting[status.name];
  if (fact === undefined || !isToStart(status, known, input)) return status;
  const { terminated } = status.state;
  const { container, newest } = known;
  const instance = newest === undefined ? unborn(container, input.pod.spec) : status;
  return {
    ...instance,
    restartCount: status.restartCount,
    state: { waiting: { ...fact } },
    lastState: terminated === undefined ? status.lastState : { terminated },
  };
}

/** kubelet: ShouldContainerBeRestarted */
function isToStart(
  { state }: ContainerStatus,
  { container, newest }: Known,
  { pod: { spec }, observed, facts }: ContainerStatusesInput,
): boolean {
  if (isEnding(facts) || newest?.state === "Running") return false;
  if (state.terminated === undefined) return true;
  if (startsAgain(spec, { container, ended: state.terminated }, facts)) return true;
  return isPlainInit(spec, container) && isOfEarlierSandbox(newest, observed);
}

/** A new sandbox needs its own run of the init containers, however well the last one went. */
function isOfEarlierSandbox(
  newest: ObservedContainer | undefined,
  observed: ObservedPod | undefined,
): boolean {
  const sandbox = currentSandbox(observed);
  if (newest === undefined || newest.exitCode !== 0) return false;
  return sandbox?.state === "Ready" && newest.sandboxId !== sandbox.id;
}
