// The container statuses of a pod that was stopped for good: none may look as if it could still run.
// kubelet: status manager, TerminatePod

import type { ContainerStatus, PodContainerStatuses } from "../api/v1/pod-status.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { isSidecar } from "../api/v1/pod.ts";
import { lostContainer } from "./container-state.ts";

/** Containers whose turn never came go on waiting: the pod ended before them. */
export function terminatedStatuses(
  spec: PodSpec,
  { initContainerStatuses: init, containerStatuses: apps }: PodContainerStatuses,
): PodContainerStatuses {
  const reached = attempted(init);
  return {
    initContainerStatuses: init.map((status, index) =>
      index < reached ? endedInit(spec, status) : status,
    ),
    containerStatuses: wasInitialized(spec, init, apps) ? apps.map(ended) : apps,
  };
}

/** One that did its work before its pod ended has done it. */
function endedInit({ initContainers }: PodSpec, status: ContainerStatus): ContainerStatus {
  const final = ended(status);
  const container = initContainers.find(({ name }) => name === status.name);
  const isPlain = container?.restartPolicy !== "Always";
  return { ...final, ready: isPlain && final.state.terminated?.exitCode === 0 };
}

function ended(status: ContainerStatus): ContainerStatus {
  if (status.state.terminated !== undefined) return status;
  const stopped = { ...status, ready: false, started: false };
  // One that waited for its next start will not get it: its last end was the end.
  const last = status.state.waiting === undefined ? undefined : status.lastState.terminated;
  if (last !== undefined) return { ...stopped, state: { terminated: last }, lastState: {} };
  const lost = lostContainer(
    "The container could not be located when the pod was terminated",
    status.containerID,
  );
  return { ...stopped, state: { terminated: lost } };
}

/** How many of the init containers came to their turn; the first always did. kubelet: initializedContainers */
function attempted(init: readonly ContainerStatus[]): number {
  return Math.max(init.findLastIndex(hasRun), 0) + 1;
}

/** kubelet: hasPodInitialized */
function wasInitialized(
  spec: PodSpec,
  init: readonly ContainerStatus[],
  apps: readonly ContainerStatus[],
): boolean {
  const container = spec.initContainers.at(-1);
  const last = init.at(-1);
  if (container === undefined || last === undefined || apps.some(hasRun)) return true;
  if (isSidecar(spec, container)) return last.started;
  return [last.state, last.lastState].some(({ terminated }) => terminated?.exitCode === 0);
}

function hasRun({ state, lastState }: ContainerStatus): boolean {
  return state.waiting === undefined || lastState.terminated !== undefined;
}
