// How a pod on trial does: its health, and how often its worst container has ended in the life of its UID.

import { allStatuses } from "../api/v1/container-statuses.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { allContainers, type Container, type PodSpec } from "../api/v1/pod.ts";
import type { ContainerStatus, PodStatus } from "../api/v1/pod-status.ts";
import { restartsAfter } from "../api/pod/restart-policy.ts";
import type { TrialHealth } from "./trial.ts";
import type { PodHealth } from "./pod-health.ts";

export function trialHealth(
  { pod }: DesiredPod,
  health: PodHealth,
  status: PodStatus | undefined,
): TrialHealth {
  const { stage, readySince, reason, message } = health;
  const all = allStatuses(status);
  const ends = allContainers(pod.spec).map((container) => endsOf(pod.spec, container, all));
  return {
    stage,
    readySince,
    hasBegun: all.some(hasBegun),
    isWaiting: reason === "DependencyNotReady",
    crashes: Math.max(0, ...ends),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

/** How often it has ended when it should not have. */
function endsOf(spec: PodSpec, container: Container, all: readonly ContainerStatus[]): number {
  const own = all.find(({ name }) => name === container.name);
  if (own === undefined) return 0;
  const last = lastEnd(own);
  const hasCrashed =
    last !== undefined && (last.exitCode !== 0 || restartsAfter(spec, container, last.exitCode));
  return own.restartCount + (hasCrashed ? 1 : 0);
}

/** Of the instance that counts now; undefined = it runs, or there was none. */
function lastEnd({ state, lastState }: ContainerStatus): { readonly exitCode: number } | undefined {
  if (state.terminated !== undefined) return state.terminated;
  return state.waiting === undefined ? undefined : lastState.terminated;
}

/** It runs, or has run. */
function hasBegun({ state, lastState, restartCount }: ContainerStatus): boolean {
  return state.waiting === undefined || lastState.terminated !== undefined || restartCount > 0;
}
