// What the trial of one pod depends on: the document's policy with the pod's own words, and whether it may cut the node off. Pure.

import type { DesiredPod } from "../api/desired-pod.ts";
import { allContainers } from "../api/pod.ts";
import type { Revision, Trial } from "../api/rollout.ts";
import { policyOf } from "../api/update-annotations.ts";
import type { UpdatePolicy } from "../api/update-policy.ts";
import type { Monotonic } from "../lib/clock.ts";
import type { TrialFacts } from "./rollout-trial.ts";

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
  "health" | "isMeantToFinish" | "registryAnswers" | "fatal" | "hold" | "orderedRestarts"
> & {
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
  const begins = upstream.isConnected && mayCutOff(desired, policy);
  const needsUpstream = trial === undefined ? begins : trial.needsUpstream === true;
  const { minReadySeconds, progressDeadlineSeconds, retryFailed } = policy;
  return {
    ...progress,
    wanted: { revision, generation },
    minReadySeconds,
    progressDeadlineSeconds,
    retryFailed,
    watchedSince: input.watchedSince,
    now,
    bootId,
    needsUpstream,
    upstream: needsUpstream ? reached(input, trial) : "NotNeeded",
  };
}

/** After the switch: what was said before it proves nothing. */
function reached({ progress, upstream }: TrialInput, trial: Trial | undefined) {
  const { health } = progress;
  const since = health?.readySince ?? trial?.since;
  const { reachedAt } = upstream;
  return since !== undefined && reachedAt !== undefined && reachedAt > since
    ? "Confirmed"
    : "Awaited";
}

function mayCutOff({ pod }: DesiredPod, { requireUpstream }: TrialPolicy): boolean {
  switch (requireUpstream) {
    case "always":
      return true;
    case "never":
      return false;
    case "auto":
      return (
        pod.spec.hostNetwork ||
        allContainers(pod.spec).some(({ securityContext }) => securityContext.privileged === true)
      );
  }
}
