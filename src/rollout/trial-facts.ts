// What the trial of a new revision is judged by: how the new pod does, and the policy of its document with the pod's own
// annotations.

import type { PodHealth } from "./pod-health.ts";
import type {
  WantedRevision,
  Failure,
  Trial,
  RolloutState,
  OnFailure,
} from "../api/pod/rollout.ts";
import type { Monotonic } from "../lib/clock.ts";
import {
  type UpstreamProof,
  type UpstreamFacts,
  mayCutOff,
  upstreamProof,
} from "./require-upstream.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import { policyOf } from "../api/pod/update-annotations.ts";

/** How the new pod does. */
export type TrialHealth = Pick<
  PodHealth,
  "stage" | "readySince" | "hasBegun" | "totalCrashes" | "reason" | "message"
>;

export interface TrialFacts {
  readonly wanted: WantedRevision;
  readonly minReadySeconds: number;
  readonly progressDeadlineSeconds: number;
  /** Tried again although it has failed before. */
  readonly retryFailed: boolean;
  readonly now: Monotonic;
  readonly bootId: string;
  /** Of the new pod; undefined = it has no worker yet. */
  readonly health: TrialHealth | undefined;
  /** Without `health`: the runtime may have it all the same, from before this process; absent = no. */
  readonly mayHaveRun?: boolean;
  /** Why the node does not run it (evicted, no room); absent = it may run, or has not been judged. */
  readonly refusal?: Failure;
  /** It is meant to finish: it is good when it has succeeded. */
  readonly isMeantToFinish: boolean;
  /** The pod that it replaces, or one in its way, is still stopping: that time is not its own; absent = none is. */
  readonly othersStop?: boolean;
  /** Its predecessor stops before its images are here, so nothing runs meanwhile; absent = no. */
  readonly stopsFirst?: boolean;
  /** While it pulls: whether the registry answers at all. */
  readonly registryAnswers: boolean;
  /** An object that it would read is missing: that wait counts; absent = all are there. */
  readonly misses?: boolean;
  /** A failure that waiting cannot mend, such as an image that does not exist. */
  readonly fatal?: Failure;
  /** What holds the update; absent = nothing. */
  readonly hold?: string;
  /** Since when this process has watched the trial; absent = from its beginning. */
  readonly watchedSince?: Monotonic;
  /** Ends of a running container that a trial that begins now causes, so that it reads new content; absent = none. */
  readonly orderedRestarts?: number;
  /** A trial that begins now could cut the node off from a broker that it is connected to; absent = no. */
  readonly needsUpstream?: boolean;
  /** Whether it must prove that it has not cut the node off, and whether it has. */
  readonly upstream: "NotNeeded" | UpstreamProof;
}

/** How the new pod does by now. */
export type PodProgress = Pick<
  TrialFacts,
  | "health"
  | "mayHaveRun"
  | "refusal"
  | "isMeantToFinish"
  | "registryAnswers"
  | "fatal"
  | "hold"
  | "orderedRestarts"
  | "othersStop"
  | "misses"
> & {
  /** When `fatal` was found. */
  readonly fatalAt?: Monotonic;
  /** When a hold may end by itself; absent = it has to be released. */
  readonly holdReviewAt?: Monotonic;
};

interface TrialInput extends Pick<TrialFacts, "wanted" | "watchedSince" | "now" | "bootId"> {
  readonly desired: DesiredPod;
  /** What runs until it has proved itself, if anything. */
  readonly before: DesiredPod | undefined;
  readonly policy: UpdatePolicy;
  /** Of any revision. */
  readonly trial: Trial | undefined;
  readonly progress: PodProgress;
  readonly connection: UpstreamFacts;
}

/** Adds to how the pod does: the policy with the pod's own annotations, and whether the update may cut off the node. */
export function trialFacts(input: TrialInput): TrialFacts {
  const { desired, before, policy: ofDocument, trial: last, progress, connection, ...same } = input;
  const policy = policyOf(desired.pod, ofDocument);
  const trial = last?.revision === same.wanted.revision ? last : undefined;
  const both = before === undefined ? [desired] : [desired, before];
  const begins = connection.isConnected && mayCutOff(both, policy);
  const needsUpstream = trial === undefined ? begins : trial.needsUpstream === true;
  const provenFrom = trial && Math.max(progress.health?.readySince ?? trial.since, trial.since);
  const { minReadySeconds, retryFailed } = policy;
  const { fatal, fatalAt, ...known } = progress;
  // What was found before the trial proves nothing about it.
  const isOfTrial = fatalAt !== undefined && trial !== undefined && fatalAt >= trial.since;
  return {
    ...known,
    ...(fatal !== undefined && isOfTrial ? { fatal } : {}),
    ...same,
    minReadySeconds,
    // With more readiness asked for than time, no update would ever succeed.
    progressDeadlineSeconds: Math.max(policy.progressDeadlineSeconds, minReadySeconds + 1),
    retryFailed,
    stopsFirst: policy.strategy === "stop-then-pull",
    needsUpstream,
    upstream: needsUpstream ? upstreamProof(connection, provenFrom) : "NotNeeded",
  };
}

/** Marks a pod whose predecessor stops before its images are here. */
export function withStrategy(desired: DesiredPod, policy: UpdatePolicy): DesiredPod {
  const { strategy } = policyOf(desired.pod, policy);
  return strategy === "stop-then-pull" ? { ...desired, stopFirst: true } : desired;
}

export interface PodOnRollout {
  /** `namespace/name`. */
  readonly name: string;
  readonly state: RolloutState;
  readonly facts: TrialFacts;
  /** From the pod's own annotation; absent = the document's. */
  readonly onFailure?: OnFailure;
  /** A good revision whose copy cannot be read now: remembered, but no way back; `state` is without it. */
  readonly lost?: WantedRevision;
}
