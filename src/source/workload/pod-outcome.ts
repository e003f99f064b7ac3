// How a pod of a Job does, from its status.

import { allStatuses, type ContainerStatus, type PodStatus } from "../../api/v1/pod-status.ts";
import type { PodOutcome } from "./job-state.ts";

/** The node shut down: the pod runs once more afterwards. */
const SHUTDOWN = "Terminated";

/** One without a status has not begun. */
export function outcomeOf(status: PodStatus | undefined): PodOutcome {
  const statuses = allStatuses(status);
  switch (status?.phase) {
    case "Succeeded":
      return { type: "Succeeded" };
    case "Failed": {
      if (status.reason === SHUTDOWN) return active(statuses);
      const exits = statuses.flatMap(({ name: container, state: { terminated } }) =>
        terminated === undefined ? [] : [{ container, exitCode: terminated.exitCode }],
      );
      return { type: "Failed", exits, conditions: status.conditions };
    }
    case "Pending":
    case "Running":
    case "Unknown":
    case undefined:
      return active(statuses);
  }
}

function active(statuses: readonly ContainerStatus[]): PodOutcome {
  return {
    type: "Active",
    restarts: statuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
  };
}
