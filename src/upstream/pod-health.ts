// How far one pod is on its way, as acknowledgements judge it; counts time since boot, never the wall clock (law 8).

import type { ContainerStatus, PodStatus } from "../api/pod-status.ts";
import type { DesiredPod } from "../api/desired-pod.ts";
import type { PodUID } from "../api/pod.ts";
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
  const containers = status?.containerStatuses ?? [];
  return {
    uid: desired.uid,
    namespace,
    name,
    stage: stageOf(facts),
    readySince,
    crashes: Math.max(...containers.map(failuresOf), 0),
    ...whyNot(status),
  };
}

/** The pod's own words, else those of the first container that does not run. */
function whyNot(status: PodStatus | undefined): Pick<PodHealth, "reason" | "message"> {
  const state = status?.containerStatuses.find((container) => !isGoing(container))?.state;
  const { reason, message } =
    status?.reason === undefined ? (state?.waiting ?? state?.terminated ?? {}) : status;
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

function stageOf({ status, pulling, terminating }: HealthFacts): PodStage {
  if (terminating === true) return "Terminating";
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return status.phase;
  const isDownloading =
    pulling === true ||
    status?.containerStatuses.some((container) =>
      PULL_REASONS.includes(container.state.waiting?.reason ?? ""),
    );
  if (isDownloading === true) return "Downloading";
  if (status === undefined) return "Pending";
  if (status.phase === "Running")
    return status.containerStatuses.every(isGoing) ? "Running" : "Starting";
  return "Pending";
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
