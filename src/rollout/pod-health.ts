// How far one pod is on its way, as acknowledgements judge it; counts time since boot, never the wall clock (law 8).

import { allStatuses } from "../api/v1/container-statuses.ts";
import type { ContainerStatus, PodStatus } from "../api/v1/pod-status.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { PodSpec, PodUID } from "../api/v1/pod.ts";
import { initBlock, isConditionTrue } from "../api/pod/pod-summary.ts";
import type { Monotonic } from "../lib/clock.ts";

export type PodStage =
  "Pending" | "Downloading" | "Starting" | "Running" | "Terminating" | "Succeeded" | "Failed";

export interface PodHealth {
  readonly uid: PodUID;
  readonly namespace: string;
  readonly name: string;
  readonly stage: PodStage;
  /** Since when it is Ready without a break; undefined = it is not. */
  readonly readySince: Monotonic | undefined;
  /** How often the worst container that is not ready now has ended. */
  readonly crashes: number;
  /** Why it is not further, e.g. `ImagePullBackOff`. */
  readonly reason?: string;
  readonly message?: string;
}

/** What is known beside the status. */
export interface HealthFacts {
  readonly status: PodStatus | undefined;
  readonly now: Monotonic;
  /** An image of it is being pulled. */
  readonly pulling?: boolean;
  readonly terminating?: boolean;
}

const PULL_REASONS: readonly string[] = [
  "Pulling",
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "ImageInspectError",
  "RegistryUnavailable",
];

/** The pod's health now; `before` is what this said last, so that `readySince` goes on counting. */
export function podHealth(desired: DesiredPod, facts: HealthFacts, before?: PodHealth): PodHealth {
  const { namespace, name } = desired.pod.metadata;
  const { status, now } = facts;
  const known = before?.uid === desired.uid ? before : undefined;
  const ready = status !== undefined && facts.terminating !== true && isReady(status);
  const readySince = ready ? (known?.readySince ?? now) : undefined;
  return {
    uid: desired.uid,
    namespace,
    name,
    stage: stageOf(facts),
    readySince,
    crashes: crashesOf(status),
    ...whyNot(desired.pod.spec, status),
  };
}

/** What failed on the way of a pod that finished well is forgiven. */
function crashesOf(status: PodStatus | undefined): number {
  if (status === undefined || status.phase === "Succeeded") return 0;
  return Math.max(...allStatuses(status).map(failuresOf), 0);
}

type Why = Pick<PodHealth, "reason" | "message">;

/** The pod's own words, else those of the init container that holds it up, else of the first container that does not run. */
function whyNot(spec: PodSpec, status: PodStatus | undefined): Why {
  if (status === undefined) return {};
  if (status.reason !== undefined) return why(status);
  if (status.phase === "Succeeded") return {};
  const init = initBlock({ spec, status });
  const blocked = init === undefined ? undefined : { ...saidOf(init.status), reason: init.word };
  if (blocked !== undefined && !isConditionTrue({ spec, status }, "Initialized"))
    return why(blocked);
  const first = status.containerStatuses.find((container) => !isGoing(container));
  if (first !== undefined) return why(saidOf(first));
  return status.phase === "Failed" || blocked === undefined ? {} : why(blocked);
}

function saidOf({ state }: ContainerStatus): Why {
  return state.waiting ?? state.terminated ?? {};
}

function why({ reason, message }: Why): Why {
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

function stageOf({ status, pulling, terminating }: HealthFacts): PodStage {
  if (terminating === true) return "Terminating";
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return status.phase;
  if (pulling === true) return "Downloading";
  if (status === undefined) return "Pending";
  const containers = allStatuses(status);
  if (containers.some(isPulling)) return "Downloading";
  if (status.phase === "Running") return containers.every(isGoing) ? "Running" : "Starting";
  return status.initContainerStatuses.some(hasBegun) ? "Starting" : "Pending";
}

function isPulling({ state }: ContainerStatus): boolean {
  return PULL_REASONS.includes(state.waiting?.reason ?? "");
}

/** It runs, or ran already. */
function hasBegun({ state, lastState }: ContainerStatus): boolean {
  return state.waiting === undefined || lastState.terminated !== undefined;
}

function isReady(status: PodStatus): boolean {
  return status.conditions.some(({ type, status: is }) => type === "Ready" && is === "True");
}

/** Runs, or has done what it had to do. */
function isGoing({ state }: ContainerStatus): boolean {
  return state.running !== undefined || state.terminated?.exitCode === 0;
}

function failuresOf({ restartCount, state, ready }: ContainerStatus): number {
  if (ready) return 0;
  const hasEnded = state.terminated !== undefined && state.terminated.exitCode !== 0;
  return restartCount + (hasEnded ? 1 : 0);
}
