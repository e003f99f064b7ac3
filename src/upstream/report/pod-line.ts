// One pod as one line of the report, as `kubectl get pods` shows it.

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import { type PodCondition, type PodStatus, allStatuses } from "../../api/v1/pod-status.ts";
import {
  initBlock,
  isConditionTrue,
  summarizePod,
  type SummarizedPod,
} from "../../api/pod/pod-summary.ts";
import { UPDATE_CONDITIONS } from "../../api/pod/update-condition.ts";
import type { PodLine } from "../../protocol/reported-state.ts";
import { reportedSource } from "../../protocol/wire-text.ts";

/** The line of a pod; `status` undefined = it has none yet. */
export function podLine(desired: DesiredPod, status: PodStatus | undefined): PodLine {
  const { namespace, name } = desired.pod.metadata;
  const pod = { spec: desired.pod.spec, status: status ?? {} };
  const { ready, containers } = summarizePod(pod, false);
  const reason = status === undefined ? undefined : reasonOf(pod, status);
  return {
    namespace,
    name,
    uid: desired.uid,
    source: reportedSource(desired.source),
    specHash: desired.specHash,
    phase: status?.phase ?? "Pending",
    ready: `${ready}/${containers}`,
    restarts: allStatuses(status).reduce((sum, { restartCount }) => sum + restartCount, 0),
    ...(reason === undefined ? {} : { reason }),
    since: sinceOf(status),
  };
}

/** The pod's own reason, else that of the container that keeps it from running. */
function reasonOf(pod: SummarizedPod, status: PodStatus): string | undefined {
  if (status.reason !== undefined) return status.reason;
  const update = status.conditions.find(
    ({ type, status: is }) => Object.hasOwn(UPDATE_CONDITIONS, type) && is === "True",
  );
  if (update !== undefined) return lineReason(update);
  const init = initBlock(pod)?.word;
  if (init !== undefined && !isConditionTrue(pod, "Initialized")) return init;
  return firstReason(status) ?? init;
}

/** A pending update is reported with its reason, any other by the type of its condition. */
function lineReason({ type, reason }: PodCondition): string | undefined {
  return type === "agent/UpdatePending" ? reason : type.slice("agent/".length);
}

function firstReason({ containerStatuses }: PodStatus): string | undefined {
  for (const { state } of containerStatuses) {
    const reason = state.waiting?.reason ?? state.terminated?.reason;
    if (reason !== undefined && reason !== "Completed") return reason;
  }
  const [first] = containerStatuses;
  return first?.state.terminated?.reason;
}

/** The last change of Ready, else the start of the pod. */
function sinceOf(status: PodStatus | undefined): string {
  const ready = status?.conditions.find(({ type }) => type === "Ready");
  return ready?.lastTransitionTime ?? status?.startTime ?? "";
}
