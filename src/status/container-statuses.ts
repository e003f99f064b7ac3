// The statuses of a pod's containers: the runtime's two newest instances, what was known before,
// and why the next one waits. kubelet: convertToAPIContainerStatuses

import type { ObservedContainer, ObservedPod } from "../api/observed-pod.ts";
import type { ContainerState, ContainerStatus } from "../api/pod-status.ts";
import type { Container, Pod, RestartPolicy } from "../api/pod.ts";
import { containerID, containerState, lostContainer } from "./container-state.ts";
import type { PodFacts } from "./facts.ts";

export interface ContainerStatusesInput {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly facts: PodFacts;
  readonly previous: readonly ContainerStatus[];
}

/** One status per container of the spec, in the spec's order. */
export function containerStatuses(input: ContainerStatusesInput): readonly ContainerStatus[] {
  return input.pod.spec.containers.map((container) => {
    const instances = instancesOf(container.name, input.observed);
    const previous = input.previous.find((status) => status.name === container.name);
    const [newest, older] = instances;
    const status =
      newest === undefined
        ? fromMemory(container, previous, input.facts)
        : fromRuntime({ newest, older }, input.facts, previous);
    return afterTermination(waitingToStart(status, newest, input), input.facts);
  });
}

/** Whether the kubelet would start this container again. kubelet: ShouldContainerBeRestarted */
export function shouldBeRestarted(
  newest: ObservedContainer | undefined,
  restartPolicy: RestartPolicy,
): boolean {
  if (newest === undefined || newest.state === "Created" || newest.state === "Unknown") return true;
  if (newest.state === "Running" || restartPolicy === "Never") return false;
  return restartPolicy === "Always" || newest.exitCode !== 0;
}

// Newest is the highest attempt: creation times come from a clock that jumps.
function instancesOf(name: string, observed: ObservedPod | undefined): ObservedContainer[] {
  const all = observed?.containers.filter((container) => container.name === name) ?? [];
  return all.toSorted((a, b) => b.attempt - a.attempt);
}

interface Instances {
  readonly newest: ObservedContainer;
  readonly older: ObservedContainer | undefined;
}

function fromRuntime(
  { newest, older }: Instances,
  facts: PodFacts,
  previous: ContainerStatus | undefined,
): ContainerStatus {
  const running = newest.state === "Running";
  return {
    name: newest.name,
    state: stateOf(newest, facts),
    lastState: older === undefined ? earlierState(newest, previous) : stateOf(older, facts),
    // Without probes a container that runs has started and is ready.
    ready: running,
    started: running,
    restartCount: newest.attempt,
    image: newest.image,
    imageID: newest.imageID,
    containerID: containerID(newest.id),
  };
}

function stateOf(container: ObservedContainer, facts: PodFacts): ContainerState {
  return containerState(container, facts.oomKilled?.includes(container.id) === true);
}

// The record of the instance before may have been collected since: keep what was said of it,
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
  facts: PodFacts,
): ContainerStatus {
  if (previous?.state.terminated !== undefined) return previous;
  const waiting: ContainerStatus = {
    name: container.name,
    state: { waiting: { reason: "ContainerCreating" } },
    lastState: previous?.lastState ?? {},
    ready: false,
    started: false,
    restartCount: previous?.restartCount ?? 0,
    image: container.image,
    imageID: "",
    containerID: "",
  };
  if (previous?.state.running === undefined) return waiting;
  const lost = lostContainer(
    "The container ran, and then the runtime no longer had it",
    previous.containerID,
  );
  if (facts.terminating === true) return { ...waiting, state: { terminated: lost } };
  // The next instance is one restart further: this one's number is spent.
  return { ...waiting, lastState: { terminated: lost }, restartCount: previous.restartCount + 1 };
}

function waitingToStart(
  status: ContainerStatus,
  newest: ObservedContainer | undefined,
  { pod, facts }: ContainerStatusesInput,
): ContainerStatus {
  const fact = facts.waiting[status.name];
  if (fact === undefined || facts.terminating === true || facts.terminated === true) return status;
  if (!shouldBeRestarted(newest, pod.spec.restartPolicy)) return status;
  const finished = newest === undefined ? finishedForGood(status, pod.spec.restartPolicy) : false;
  if (finished) return status;
  return {
    ...status,
    state: { waiting: { ...fact } },
    lastState:
      status.state.terminated === undefined
        ? status.lastState
        : { terminated: status.state.terminated },
    ready: false,
    started: false,
  };
}

// The runtime's record is gone, but the end was seen: it still decides whether there is a next start.
function finishedForGood(status: ContainerStatus, restartPolicy: RestartPolicy): boolean {
  const ended = status.state.terminated;
  if (ended === undefined || restartPolicy === "Always") return false;
  return restartPolicy === "Never" || ended.exitCode === 0;
}

// kubelet: TerminatePod — after the last sync nothing may look as if it could still run.
function afterTermination(status: ContainerStatus, facts: PodFacts): ContainerStatus {
  if (facts.terminated !== true || status.state.terminated !== undefined) return status;
  const stopped = { ...status, ready: false, started: false };
  // One that waited for its next start will not get it: its last end was the end.
  const ended = status.state.waiting === undefined ? undefined : status.lastState.terminated;
  if (ended !== undefined) return { ...stopped, state: { terminated: ended }, lastState: {} };
  const lost = lostContainer(
    "The container could not be located when the pod was terminated",
    status.containerID,
  );
  return { ...stopped, state: { terminated: lost } };
}
