// The kubelet's five conditions of a pod. kubelet: GeneratePodReadyCondition and its neighbours

import type { ObservedPod } from "../api/observed-pod.ts";
import type { ContainerStatus, PodCondition, PodPhase } from "../api/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";

/** A condition before anybody knows when it last changed. */
export type Untimed = Omit<PodCondition, "lastTransitionTime">;

export interface ConditionsInput {
  readonly observed: ObservedPod | undefined;
  readonly statuses: readonly ContainerStatus[];
  readonly phase: PodPhase;
}

/** In the kubelet's order. */
export function podConditions({ observed, statuses, phase }: ConditionsInput): readonly Untimed[] {
  const ready = containersReady(statuses, phase);
  return [
    {
      type: "PodReadyToStartContainers",
      status: sandboxServes(observed) ? "True" : "False",
    },
    {
      type: "Initialized",
      status: "True",
      ...(phase === "Succeeded" ? { reason: "PodCompleted" } : {}),
    },
    { ...ready, type: "Ready" },
    { ...ready, type: "ContainersReady" },
    { type: "PodScheduled", status: "True" },
  ];
}

/**
 * Gives each condition the time of its last change of status: that of the condition before it
 * while the status is the same, else `now` (wall ms).
 */
export function timed(
  conditions: readonly PodCondition[],
  previous: readonly PodCondition[],
  now: number,
): readonly PodCondition[] {
  return conditions.map((condition) => {
    const before = previous.find((other) => other.type === condition.type);
    const unchanged = before?.status === condition.status ? before.lastTransitionTime : undefined;
    const at = condition.lastTransitionTime ?? unchanged ?? rfc3339(now);
    return { ...condition, lastTransitionTime: at };
  });
}

// Two ready sandboxes are one too many: both are about to go.
function sandboxServes(observed: ObservedPod | undefined): boolean {
  const sandboxes = observed?.sandboxes ?? [];
  const ready = sandboxes.filter((sandbox) => sandbox.state === "Ready");
  const newest = sandboxes.toSorted((a, b) => b.attempt - a.attempt)[0];
  if (newest === undefined || ready.length !== 1 || newest.state !== "Ready") return false;
  return newest.hostNetwork || newest.ips.length > 0;
}

function containersReady(
  statuses: readonly ContainerStatus[],
  phase: PodPhase,
): Omit<Untimed, "type"> {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const unready = statuses.filter((status) => !status.ready).map((status) => status.name);
  if (unready.length === 0) return { status: "True" };
  return {
    status: "False",
    reason: "ContainersNotReady",
    message: `containers with unready status: [${unready.join(" ")}]`,
  };
}
