// What the trial of one pod depends on: the document's policy with the pod's own annotations, and whether the update may
// cut the node off from the broker.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { allContainers, type Pod } from "../api/v1/pod.ts";
import type { Revision, Trial } from "../api/pod/rollout.ts";
import { policyOf } from "../api/pod/update-annotations.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import type { Monotonic } from "../lib/clock.ts";
import type { TrialFacts } from "./trial.ts";

/** How the new pod does by now. */
export type PodProgress = Pick<
  TrialFacts,
  "health" | "isMeantToFinish" | "registryAnswers" | "fatal" | "hold" | "orderedRestarts" | "misses"
> & {
  /** When `fatal` was found. */
  readonly fatalAt?: Monotonic;
  /** When a hold may end by itself; absent = it has to be released. */
  readonly holdReviewAt?: Monotonic;
};

/** The connection to the broker. */
export interface UpstreamFacts {
  /** There is a connection now. */
  readonly isConnected: boolean;
  /** Last round trip, in this life of the agent. */
  readonly reachedAt: Monotonic | undefined;
}

export interface TrialInput {
  readonly desired: DesiredPod;
  /** What runs until it has proved itself, if anything. */
  readonly before: DesiredPod | undefined;
  readonly revision: Revision;
  readonly generation: number;
  readonly policy: UpdatePolicy;
  /** Of any revision. */
  readonly trial: Trial | undefined;
  readonly progress: PodProgress;
  readonly upstream: UpstreamFacts;
  /** Since when this process has looked at this trial. */
  readonly watchedSince: Monotonic;
  readonly now: Monotonic;
  readonly bootId: string;
}

export function trialFacts(input: TrialInput): TrialFacts {
  const { desired, revision, generation, progress, now, bootId, upstream } = input;
  const policy = policyOf(desired.pod, input.policy);
  const trial = input.trial?.revision === revision ? input.trial : undefined;
  const both = input.before === undefined ? [desired] : [desired, input.before];
  const begins = upstream.isConnected && mayCutOff(both, policy);
  const needsUpstream = trial === undefined ? begins : trial.needsUpstream === true;
  const { minReadySeconds, retryFailed } = policy;
  const { fatal, fatalAt, ...known } = progress;
  // What was found before the trial proves nothing about it.
  const isOfTrial = fatalAt !== undefined && trial !== undefined && fatalAt >= trial.since;
  return {
    ...known,
    ...(fatal !== undefined && isOfTrial ? { fatal } : {}),
    wanted: { revision, generation },
    minReadySeconds,
    // With more readiness asked for than time, no update would ever succeed.
    progressDeadlineSeconds: Math.max(policy.progressDeadlineSeconds, minReadySeconds + 1),
    retryFailed,
    stopsFirst: policy.strategy === "stop-then-pull",
    watchedSince: input.watchedSince,
    now,
    bootId,
    needsUpstream,
    upstream: needsUpstream ? reached(input, trial) : "NotNeeded",
  };
}

/** Marks a pod whose predecessor stops before its images are here. */
export function withStrategy(desired: DesiredPod, policy: UpdatePolicy): DesiredPod {
  const { strategy } = policyOf(desired.pod, policy);
  return strategy === "stop-then-pull" ? { ...desired, stopFirst: true } : desired;
}

/** Only a round trip after the switch proves anything. */
function reached({ progress, upstream }: TrialInput, trial: Trial | undefined) {
  const { reachedAt } = upstream;
  if (trial === undefined || reachedAt === undefined) return "Awaited";
  const since = Math.max(progress.health?.readySince ?? trial.since, trial.since);
  return reachedAt > since ? "Confirmed" : "Awaited";
}

/** Also for the pod that goes: the connection may have depended on it. */
function mayCutOff(pods: readonly DesiredPod[], { requireUpstream }: UpdatePolicy): boolean {
  switch (requireUpstream) {
    case "always":
      return true;
    case "never":
      return false;
    case "auto":
      return pods.some(({ pod }) => isClose(pod));
  }
}

/** It has access to the node's own network, or to all of the node. */
function isClose({ spec }: Pod): boolean {
  return (
    spec.hostNetwork ||
    allContainers(spec).some(({ securityContext }) => securityContext.privileged === true)
  );
}
