// How healthy one pod is. Both judges of an update use it: the trial of a revision (trial.ts), and the health of a whole
// document (document-health.ts). Counts time since boot, never the wall clock.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { initBlock, isConditionTrue } from "../api/pod/pod-summary.ts";
import { isMeantToFinish, restartsAfter } from "../api/pod/restart-policy.ts";
import { type ContainerStatus, type PodStatus, allStatuses } from "../api/v1/pod-status.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { allContainers, type PodUID } from "../api/v1/pod.ts";
import type { Monotonic } from "../lib/clock.ts";
import { hasRun, lastEnd, statusNamed } from "../status/container-state.ts";
import type { Container } from "../api/v1/container.ts";
import { withoutUndefined } from "../lib/json.ts";

type PodStage =
  "Pending" | "Downloading" | "Starting" | "Running" | "Terminating" | "Succeeded" | "Failed";

export interface PodHealth {
  readonly uid: PodUID;
  readonly stage: PodStage;
  /** Since when it is Ready without interruption; undefined = it is not Ready. */
  readonly readySince: Monotonic | undefined;
  /** A container of it has run, if only an init container. */
  readonly hasBegun: boolean;
  /** How often its worst container has ended unexpectedly; a container that is Ready counts as 0. */
  readonly crashes: number;
  /** The same over the life of this UID, whether Ready or not. */
  readonly totalCrashes: number;
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

/** So many crashes in a row count as failed. */
export const MAX_CRASHES = 3;

const PULL_REASONS: readonly string[] = [
  "Pulling",
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "ImageInspectError",
  "RegistryUnavailable",
];

/** The pod's health now; `before` is the previous result, so that `readySince` goes on counting. */
export function podHealth(desired: DesiredPod, facts: HealthFacts, before?: PodHealth): PodHealth {
  const { status, now } = facts;
  const { spec } = desired.pod;
  const known = before?.uid === desired.uid ? before : undefined;
  const isReady = status !== undefined && isConditionTrue({ status }, "Ready");
  const readySince = isReady && facts.terminating !== true ? (known?.readySince ?? now) : undefined;
  return {
    uid: desired.uid,
    stage: stageOf(facts),
    readySince,
    hasBegun: allStatuses(status).some(hasBegun),
    ...crashesOf(spec, status),
    ...whyNot(spec, status),
  };
}

/**
 * When the pod has proved itself, if nothing happens until then: Ready for `minReadySeconds` counted from `since` at the
 * earliest, or succeeded if it is meant to finish. undefined = something has to happen first.
 */
export function provenAt(
  health: Pick<PodHealth, "stage" | "readySince"> | undefined,
  terms: {
    readonly isMeantToFinish: boolean;
    readonly minReadySeconds: number;
    readonly since: Monotonic;
  },
): Monotonic | undefined {
  if (terms.isMeantToFinish) return health?.stage === "Succeeded" ? terms.since : undefined;
  if (health?.stage !== "Running" || health.readySince === undefined) return undefined;
  return Math.max(health.readySince, terms.since) + terms.minReadySeconds * 1000;
}

/** Does at this moment what it should. */
export function isWell({ pod }: DesiredPod, health: PodHealth | undefined): boolean {
  if (health === undefined) return false;
  if (health.stage === "Succeeded") return isMeantToFinish(pod.spec);
  return health.stage === "Running" && health.readySince !== undefined;
}

export function hasFailed(health: PodHealth | undefined): boolean {
  if (health === undefined) return false;
  return health.stage === "Failed" || health.crashes >= MAX_CRASHES;
}

function crashesOf(
  spec: PodSpec,
  status: PodStatus | undefined,
): Pick<PodHealth, "crashes" | "totalCrashes"> {
  const all = allStatuses(status);
  const ends = allContainers(spec).map((container) => {
    const own = statusNamed(all, container);
    const crashes = own === undefined ? 0 : crashesOfContainer(spec, container, own);
    return { crashes, isReady: own?.ready === true };
  });
  const open = ends.filter(({ isReady }) => !isReady);
  // What failed on the way of a pod that finished well does not count.
  const isForgiven = status?.phase === "Succeeded";
  return {
    crashes: isForgiven ? 0 : Math.max(0, ...open.map(({ crashes }) => crashes)),
    totalCrashes: Math.max(0, ...ends.map(({ crashes }) => crashes)),
  };
}

/** Restarts, and the last end if it was unexpected and has not been followed by a restart yet. */
function crashesOfContainer(spec: PodSpec, container: Container, status: ContainerStatus): number {
  const last = lastEnd(status);
  const hasCrashed =
    last !== undefined && (last.exitCode !== 0 || restartsAfter(spec, container, last.exitCode));
  return status.restartCount + (hasCrashed ? 1 : 0);
}

type Why = Pick<PodHealth, "reason" | "message">;

/** From the pod itself, else from the init container that blocks it, else from the first container that does not run. */
function whyNot(spec: PodSpec, status: PodStatus | undefined): Why {
  if (status === undefined) return {};
  if (status.reason !== undefined) return why(status);
  if (status.phase === "Succeeded") return {};
  const init = initBlock({ spec, status });
  const blocked = init === undefined ? undefined : { ...whyOf(init.status), reason: init.word };
  if (blocked !== undefined && !isConditionTrue({ status }, "Initialized")) return why(blocked);
  const first = status.containerStatuses.find((container) => !isGoing(container));
  if (first !== undefined) return why(whyOf(first));
  return status.phase === "Failed" || blocked === undefined ? {} : why(blocked);
}

function whyOf({ state }: ContainerStatus): Why {
  return state.waiting ?? state.terminated ?? {};
}

function why({ reason, message }: Why): Why {
  return withoutUndefined({ reason, message });
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

/** It runs, or has run. */
function hasBegun(status: ContainerStatus): boolean {
  return hasRun(status) || status.restartCount > 0;
}

/** Runs, or has completed. */
function isGoing({ state }: ContainerStatus): boolean {
  return state.running !== undefined || state.terminated?.exitCode === 0;
}
