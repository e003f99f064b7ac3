// One pod as one line of the report, in the words of `kubectl get pods`. Pure.

import type { DesiredPod } from "../api/desired-pod.ts";
import type { ContainerStatus, PodStatus } from "../api/pod-status.ts";
import type { PodLine } from "./reported-state.ts";
import { reportedSource, wireText } from "./wire-text.ts";

/** The line of a pod; `status` undefined = nothing is known of it yet. */
export function podLine(desired: DesiredPod, status: PodStatus | undefined): PodLine {
  const { namespace, name } = desired.pod.metadata;
  const containers = status?.containerStatuses ?? [];
  const ready = containers.filter((container) => container.ready).length;
  const restarts = containers.reduce((sum, container) => sum + container.restartCount, 0);
  const reason = reasonOf(status);
  return {
    namespace,
    name,
    uid: desired.uid,
    source: reportedSource(desired.source),
    specHash: desired.specHash,
    phase: status?.phase ?? "Pending",
    ready: `${ready}/${desired.pod.spec.containers.length}`,
    restarts,
    ...(reason === undefined ? {} : { reason: wireText(reason) }),
    since: sinceOf(status),
  };
}

/** The pod's own reason, else that of the first container that does not run. */
function reasonOf(status: PodStatus | undefined): string | undefined {
  if (status === undefined) return undefined;
  if (status.reason !== undefined) return status.reason;
  const update = status.conditions.find(
    ({ type, status: is }) => type === "agent/UpdatePending" && is === "True",
  );
  return update?.reason ?? firstReason(status.containerStatuses);
}

function firstReason(containers: readonly ContainerStatus[]): string | undefined {
  for (const { state } of containers) {
    const reason = state.waiting?.reason ?? state.terminated?.reason;
    if (reason !== undefined && reason !== "Completed") return reason;
  }
  const [first] = containers;
  return first?.state.terminated?.reason;
}

/** When it became Ready or ceased to be, else when the agent took it on. */
function sinceOf(status: PodStatus | undefined): string {
  const ready = status?.conditions.find(({ type }) => type === "Ready");
  return ready?.lastTransitionTime ?? status?.startTime ?? "";
}
