// One observed container as Kubernetes' ContainerState. kubelet: convertContainerStatus

import type { ObservedContainer } from "../api/observed-pod.ts";
import type { ContainerState, ContainerStateTerminated } from "../api/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";

/** Exit code of a container about whose end nobody knows: 128 + SIGKILL. */
export const LOST_EXIT_CODE = 137;

/** `containerd://<id>`, as Kubernetes writes a container's ID. */
export function containerID(id: string): string {
  return `containerd://${id}`;
}

/** The record of a container that vanished; `message` says when. */
export function lostContainer(message: string, id: string): ContainerStateTerminated {
  return { exitCode: LOST_EXIT_CODE, reason: "ContainerStatusUnknown", message, containerID: id };
}

/** `oomKilled`: the kernel's counter says so, whatever the runtime's reason is. */
export function containerState(container: ObservedContainer, oomKilled: boolean): ContainerState {
  switch (container.state) {
    case "Created":
      return { waiting: { reason: "ContainerCreating" } };
    case "Running":
      return { running: { startedAt: rfc3339(container.startedAt) } };
    case "Exited":
      return { terminated: terminated(container, oomKilled) };
    case "Unknown":
      return {
        terminated: lostContainer(
          "The runtime does not know what became of this container",
          containerID(container.id),
        ),
      };
  }
}

function terminated(container: ObservedContainer, oomKilled: boolean): ContainerStateTerminated {
  return {
    exitCode: container.exitCode,
    reason: exitReason(container, oomKilled),
    ...(container.message === "" ? {} : { message: container.message }),
    ...(container.startedAt > 0 ? { startedAt: rfc3339(container.startedAt) } : {}),
    ...(container.finishedAt > 0 ? { finishedAt: rfc3339(container.finishedAt) } : {}),
    containerID: containerID(container.id),
  };
}

// The runtime's OOM event can come too late or never; only SIGKILL's exit code may be reinterpreted.
function exitReason(container: ObservedContainer, oomKilled: boolean): string {
  if (oomKilled && container.exitCode === LOST_EXIT_CODE) return "OOMKilled";
  if (container.reason !== "") return container.reason;
  return container.exitCode === 0 ? "Completed" : "Error";
}
