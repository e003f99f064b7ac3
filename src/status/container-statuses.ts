// The statuses of a pod's containers from the runtime's two newest instances, the previous status, probe results, and the
// reason why the next instance waits. kubelet: convertToAPIContainerStatuses, prober manager's UpdatePodStatus

import {
  type ObservedContainer,
  type ObservedPod,
  currentSandbox,
  isOfThisRun,
} from "../api/pod/observed-pod.ts";
import type {
  ContainerState,
  ContainerStatus,
  PodContainerStatuses,
} from "../api/v1/pod-status.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { allContainers, isSidecar, type Pod } from "../api/v1/pod.ts";
import { allocationOf, volumeMountsOf } from "./container-allocation.ts";
import {
  containerID,
  containerState,
  lostContainer,
  statusNamed,
  CREATING,
} from "./container-state.ts";
import { type PodFacts, isEnding, startsAgain } from "./pod-facts.ts";
import type { Container } from "../api/v1/container.ts";
import type { ContainerVerdicts } from "../api/v1/probe.ts";
import { withoutUndefined } from "../lib/json.ts";
import { sharedMessage, withoutProgram } from "../runtime/observe/termination-message.ts";

export interface ContainerStatusesInput {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly facts: PodFacts;
  /** The previous status; undefined = the pod is new. */
  readonly previous: PodContainerStatuses | undefined;
}

/** One status per container of the spec, in the spec's order. */
export function containerStatuses(all: ContainerStatusesInput): PodContainerStatuses {
  const { spec } = all.pod;
  const input = { ...all, observed: withSharedMessages(all.observed, spec) };
  const { initContainerStatuses = [], containerStatuses: appStatuses = [] } = input.previous ?? {};
  return {
    initContainerStatuses: spec.initContainers.map((container) =>
      statusOf(container, statusNamed(initContainerStatuses, container), input),
    ),
    containerStatuses: spec.containers.map((container) =>
      statusOf(container, statusNamed(appStatuses, container), input),
    ),
  };
}

/** The termination messages of all containers share one limit, and contain no value of a variable. */
function withSharedMessages(
  observed: ObservedPod | undefined,
  spec: PodSpec,
): ObservedPod | undefined {
  if (observed?.containers.some(({ message }) => message !== "") !== true) return observed;
  const all = allContainers(spec);
  const containers = observed.containers.map((instance) => {
    const container = all.find(({ name }) => name === instance.name);
    const { message } = instance;
    const shown = container === undefined ? message : withoutProgram(instance, container);
    return { ...instance, message: sharedMessage(shown, all.length) };
  });
  return { ...observed, containers };
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

interface Known {
  readonly container: Container;
  readonly newest: ObservedContainer | undefined;
}

interface Instances extends Known {
  readonly newest: ObservedContainer;
  /** The newest earlier instance that ended. */
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
    // Never falls, although the instance after a lost one may get its attempt number.
    restartCount: Math.max(restartsUntil(newest, older, previous), previous?.restartCount ?? 0),
    image: newest.image,
    imageID: newest.imageID,
    containerID: containerID(newest.id),
    ...allocationOf(container, newest),
    ...volumeMountsOf(container, newest),
    ...withoutUndefined({ stopSignal }),
  };
}

/** A container that never started is no restart: it may be removed again, and its attempt number with it. */
function restartsUntil(
  newest: ObservedContainer,
  older: ObservedContainer | undefined,
  previous: ContainerStatus | undefined,
): number {
  if (newest.state !== "Created") return newest.attempt;
  // Attempts whose names the runtime had reserved were left out: only an agent that has just begun has to guess.
  return older?.attempt ?? previous?.restartCount ?? Math.max(0, newest.attempt - 1);
}

// kubelet: the status of a container does not change before its postStart hook has ended.
function isHookPending({ name, state }: ObservedContainer, facts: PodFacts): boolean {
  return state === "Running" && facts.starting?.includes(name) === true;
}

// The previous instance may have been garbage-collected: keep its last status, but never show the current instance as its
// own predecessor.
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
    "The container ran, but the runtime no longer has it",
    previous.containerID,
  );
  if (isEnding(facts)) return { ...waiting, state: { terminated: lost } };
  // The lost instance counts as a restart.
  return { ...waiting, lastState: { terminated: lost }, restartCount: previous.restartCount + 1 };
}

/** The status of a container without an instance in the runtime. */
function unborn(container: Container, { initContainers }: PodSpec): ContainerStatus {
  const { name, image } = container;
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
    ...volumeMountsOf(container, undefined),
  };
}

const INITIALIZING: ContainerState = { waiting: { reason: "PodInitializing" } };

/**
 * An init container without a record has completed if an app container exists. kubelet: HasAnyRegularContainerCreated
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
      "The runtime no longer has this container; the containers after it were created, so it completed",
    containerID: "",
  };
  return { ...status, state: { terminated } };
}

/** In the newest sandbox and run: in a new one the init containers run again. */
function isAppCreated(spec: PodSpec, observed: ObservedPod | undefined): boolean {
  const sandbox = currentSandbox(observed);
  const apps = new Set(spec.containers.map(({ name }) => name));
  return (observed?.containers ?? []).some(
    (one) =>
      apps.has(one.name) &&
      one.state !== "Unknown" &&
      (sandbox === undefined || one.sandboxId === sandbox.id) &&
      isOfThisRun(observed, one),
  );
}

function isPlainInit(spec: PodSpec, container: Container): boolean {
  return spec.initContainers.includes(container) && !isSidecar(spec, container);
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
  return isPlainInit(spec, container) && isOfEarlierRun(newest, observed);
}

/** In a new sandbox, and when all containers are restarted, the init containers run again, even if they completed before. */
function isOfEarlierRun(
  newest: ObservedContainer | undefined,
  observed: ObservedPod | undefined,
): boolean {
  const sandbox = currentSandbox(observed);
  if (newest === undefined || newest.exitCode !== 0) return false;
  if (!isOfThisRun(observed, newest)) return true;
  return sandbox?.state === "Ready" && newest.sandboxId !== sandbox.id;
}

interface StartedInput {
  readonly spec: PodSpec;
  readonly container: Container;
  /** As shown: a container whose postStart hook still runs is waiting. */
  readonly state: ContainerState;
  /** Of this instance; undefined = no probe has run. */
  readonly verdicts: ContainerVerdicts | undefined;
}

/** A plain init container is ready when it has completed; a sidecar behaves like an app container. */
export function startedAndReady({
  spec,
  container,
  state,
  verdicts,
}: StartedInput): Pick<ContainerStatus, "started" | "ready"> {
  const hasStarted = container.startupProbe === undefined || verdicts?.startup === "Success";
  const started = state.running !== undefined && hasStarted;
  if (isPlainInit(spec, container)) return { started, ready: state.terminated?.exitCode === 0 };
  const serves = container.readinessProbe === undefined || verdicts?.readiness === "Success";
  return { started, ready: started && serves };
}
