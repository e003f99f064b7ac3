// The container statuses of a pod that was stopped for good: none may look as if it could still run.
// kubelet: status manager, TerminatePod

import type { ContainerStatus, PodContainerStatuses } from "../api/v1/pod-status.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { isSidecar } from "../api/v1/pod.ts";
import { lostContainer, hasRun } from "./container-state.ts";

/** Containers that were never started stay waiting. */
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

/** Ready if it completed before the pod ended. */
function endedInit({ initContainers }: PodSpec, status: ContainerStatus): ContainerStatus {
  const final = ended(status);
  const container = initContainers.find(({ name }) => name === status.name);
  const isPlain = container?.restartPolicy !== "Always";
  return { ...final, ready: isPlain && final.state.terminated?.exitCode === 0 };
}

function ended(status: ContainerStatus): ContainerStatus {
  if (status.state.terminated !== undefined) return status;
  const stopped = { ...status, ready: false, started: false };
  // A container that waited for its next start has ended with its last instance.
  const last = status.state.waiting === undefined ? undefined : status.lastState.terminated;
  if (last !== undefined) return { ...stopped, state: { terminated: last }, lastState: {} };
  const lost = lostContainer(
    "The container could not be located when the pod was terminated",
    status.containerID,
  );
  return { ...stopped, state: { terminated: lost } };
}

/** How many init containers were started; the first always counts. kubelet: initializedContainers */
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
