// One observed container as Kubernetes' ContainerState. kubelet: convertContainerStatus

import type { ObservedContainer } from "../api/pod/observed-pod.ts";
import type {
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
} from "../api/v1/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";

/** Exit code of a container whose real one is unknown: 128 + SIGKILL. */
const LOST_EXIT_CODE = 137;

export const CREATING: ContainerState = { waiting: { reason: "ContainerCreating" } };

/** `containerd://<id>`, as Kubernetes writes a container's ID. */
export function containerID(id: string): string {
  return `containerd://${id}`;
}

/** The record of a container that vanished; `message` contains when. */
export function lostContainer(message: string, id: string): ContainerStateTerminated {
  return { exitCode: LOST_EXIT_CODE, reason: "ContainerStatusUnknown", message, containerID: id };
}

/** It runs, has ended, or waits for its next start. kubelet: HasAnyRegularContainerStarted */
export function hasRun({ state, lastState }: ContainerStatus): boolean {
  return state.waiting === undefined || lastState.terminated !== undefined;
}

/** The last end, also while it waits for its next start; undefined = it runs, or never ran. */
export function lastEnd({
  state,
  lastState,
}: ContainerStatus): ContainerStateTerminated | undefined {
  if (state.terminated !== undefined) return state.terminated;
  return state.waiting === undefined ? undefined : lastState.terminated;
}

export function statusNamed(
  statuses: readonly ContainerStatus[],
  { name }: { readonly name: string },
): ContainerStatus | undefined {
  return statuses.find((status) => status.name === name);
}

export function containerState(container: ObservedContainer): ContainerState {
  switch (container.state) {
    case "Created":
      return CREATING;
    case "Running":
      return { running: { startedAt: rfc3339(container.startedAt) } };
    case "Exited":
      return { terminated: terminated(container) };
    case "Unknown":
      return {
        terminated: lostContainer(
          "The runtime reports the state of this container as unknown",
          containerID(container.id),
        ),
      };
  }
}

function terminated(container: ObservedContainer): ContainerStateTerminated {
  return {
    exitCode: container.exitCode,
    reason: exitReason(container),
    ...(container.message === "" ? {} : { message: container.message }),
    ...(container.startedAt > 0 ? { startedAt: rfc3339(container.startedAt) } : {}),
    ...(container.finishedAt > 0 ? { finishedAt: rfc3339(container.finishedAt) } : {}),
    containerID: containerID(container.id),
  };
}

function exitReason(container: ObservedContainer): string {
  if (container.reason !== "") return container.reason;
  return container.exitCode === 0 ? "Completed" : "Error";
}
