// What the trial of one pod depends on: the document's policy with the pod's own words, and whether it may cut the node off. Pure.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { allContainers, type Pod } from "../api/v1/pod.ts";
import type { Revision, Trial } from "../api/pod/rollout.ts";
import { policyOf } from "../api/pod/update-annotations.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import type { Monotonic } from "../lib/clock.ts";
import type { TrialFacts } from "./trial.ts";

/** What of the policy bears on one pod. */
export type TrialPolicy = Pick<
  UpdatePolicy,
  | "minReadySeconds"
  | "progressDeadlineSeconds"
  | "onFailure"
  | "strategy"
  | "retryFailed"
  | "requireUpstream"
  | "maxLockSeconds"
>;

/** How the new pod does by now. */
export type PodProgress = Pick<
  TrialFacts,
  "health" | "isMeantToFinish" | "registryAnswers" | "fatal" | "hold" | "orderedRestarts" | "misses"
> & {
  /** When `fatal` was found. */
  readonly fatalAt?: Monotonic;
  /** When a hold may end by itself; absent = somebody has to end it. */
  readonly holdReviewAt?: Monotonic;
};

/** The line to the broker. */
export interface UpstreamFacts {
  /** There is one now. */
  readonly isConnected: boolean;
  /** When something went there and came back last, in this life of the agent. */
  readonly reachedAt: Monotonic | undefined;
}

export interface TrialInput {
  readonly desired: DesiredPod;
  /** What runs until it has proved itself, if anything. */
  readonly before: DesiredPod | undefined;
  readonly revision: Revision;
  readonly generation: number;
  readonly policy: TrialPolicy;
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
  // What was found before says nothing of another try.
  const isNews = fatalAt !== undefined && trial !== undefined && fatalAt >= trial.since;
  return {
    ...known,
    ...(fatal !== undefined && isNews ? { fatal } : {}),
    wanted: { revision, generation },
    minReadySeconds,
    // Whoever asks for more readiness than there is time would never have an update.
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

/** How the pod takes its predecessor's place. */
export function withStrategy(desired: DesiredPod, policy: TrialPolicy): DesiredPod {
  const { strategy } = policyOf(desired.pod, policy);
  return strategy === "stop-then-pull" ? { ...desired, stopFirst: true } : desired;
}

/** After the switch: what was said before it proves nothing. */
function reached({ progress, upstream }: TrialInput, trial: Trial | undefined) {
  const { reachedAt } = upstream;
  if (trial === undefined || reachedAt === undefined) return "Awaited";
  const since = Math.max(progress.health?.readySince ?? trial.since, trial.since);
  return reachedAt > since ? "Confirmed" : "Awaited";
}

/** Also what goes: it may have been what held the line. */
function mayCutOff(pods: readonly DesiredPod[], { requireUpstream }: TrialPolicy): boolean {
  switch (requireUpstream) {
    case "always":
      return true;
    case "never":
      return false;
    case "auto":
      return pods.some(({ pod }) => isClose(pod));
  }
}

/** To the node's own network, or to all of it. */
function isClose({ spec }: Pod): boolean {
  return (
    spec.hostNetwork ||
    allContainers(spec).some(({ securityContext }) => securityContext.privileged === true)
  );
}
