// Judges one new revision of a pod: good, failed, held, known bad, or still on trial. docs/updates.md has the rules for
// users.

import type { Failure, RolloutState, Trial, WantedRevision } from "../api/pod/rollout.ts";
import { earliest, type Monotonic } from "../lib/clock.ts";
import { MAX_CRASHES, provenAt, type PodHealth } from "./pod-health.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { policyOf } from "../api/pod/update-annotations.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import {
  mayCutOff,
  upstreamProof,
  type UpstreamFacts,
  type UpstreamProof,
} from "./require-upstream.ts";

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
  /** It is meant to finish: it is good when it has succeeded. */
  readonly isMeantToFinish: boolean;
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

export type Judgement =
  /** It was good before, or has just become good. */
  | { readonly type: "Good" }
  /** `trial`: its state by now; `reviewAt`: when time alone may change the judgement. */
  | { readonly type: "OnTrial"; readonly trial: Trial; readonly reviewAt: Monotonic | undefined }
  | {
      readonly type: "Failed";
      readonly trial: Trial;
      readonly why: Failure;
      /** When it may prove itself all the same, if it goes on. */
      readonly reviewAt: Monotonic | undefined;
    }
  /** `isOld`: it failed when an earlier document asked for it. */
  | { readonly type: "KnownBad"; readonly why: Failure; readonly isOld: boolean }
  | {
      readonly type: "Held";
      readonly why: string;
      /** A trial that had not begun when the hold came; it continues afterwards. */
      readonly trial: Trial | undefined;
    };

const BOOTS = 3;
/** After its start the agent gives a running pod so long to show that it is ready. */
const LOOK_SECONDS = 30;

export function judgeTrial(state: RolloutState, facts: TrialFacts): Judgement {
  const { wanted } = facts;
  if (state.good?.revision === wanted.revision) return { type: "Good" };
  const bad = knownBad(state, facts);
  if (bad !== undefined) return bad;
  const trial = continued(state.trial, facts);
  const held = heldBack(state, trial, facts);
  if (held !== undefined) return held;
  const goodAt = provenAt(facts.health, { ...facts, since: trial.since });
  if (goodAt !== undefined && facts.now >= goodAt && facts.upstream !== "Awaited")
    return { type: "Good" };
  const why = failureOf(trial, facts, goodAt);
  const isAhead = goodAt !== undefined && goodAt > facts.now;
  if (why !== undefined)
    return { type: "Failed", trial, why, reviewAt: isAhead ? goodAt : undefined };
  return { type: "OnTrial", trial, reviewAt: reviewTime(trial, facts, goodAt) };
}

/** A hold protects what runs: without a good revision there is nothing to hold. */
function heldBack(state: RolloutState, trial: Trial, facts: TrialFacts): Judgement | undefined {
  const isKnown = state.trial?.revision === facts.wanted.revision;
  const hasBegun = isKnown && trial.started;
  if (facts.hold === undefined || hasBegun || state.good === undefined) return undefined;
  return { type: "Held", why: facts.hold, trial: isKnown ? trial : undefined };
}

/** A newer document may ask for one more try; the document whose revision failed may not. */
function knownBad({ bad }: RolloutState, facts: TrialFacts): Judgement | undefined {
  const { wanted, retryFailed } = facts;
  const known = bad.find(({ revision }) => revision === wanted.revision);
  if (known === undefined) return undefined;
  const isOld = known.generation < wanted.generation;
  if (retryFailed && isOld) return undefined;
  const { reason, message } = known;
  return { type: "KnownBad", why: { reason, message }, isOld };
}

/** Ms on trial by now. */
export function elapsedOf(trial: Trial, now: Monotonic): number {
  return trial.elapsedMs + (trial.counts ? Math.max(0, now - trial.at) : 0);
}

/** The trial up to this moment: begun now, continued in the same boot, or found after another boot. */
function continued(before: Trial | undefined, facts: TrialFacts): Trial {
  const { wanted, now, bootId } = facts;
  const known = isGoingOn(before, facts) ? before : undefined;
  const needsUpstream = (known ?? facts).needsUpstream === true;
  const started = known?.started === true || hasStarted(facts.health);
  const needs = needsUpstream ? { needsUpstream } : {};
  const base = { ...wanted, at: now, bootId, started, counts: countsNow(started, facts), ...needs };
  const crashesBefore = known?.crashesBefore ?? crashesSoFar(facts);
  if (known === undefined) return { ...base, since: now, crashesBefore, elapsedMs: 0, boots: 1 };
  const isSameBoot = known.bootId === bootId;
  return {
    ...base,
    crashesBefore,
    since: isSameBoot ? known.since : now,
    // Time since the last checkpoint of the other boot is lost; the boot is counted.
    elapsedMs: isSameBoot ? elapsedOf(known, now) : known.elapsedMs,
    boots: known.boots + (isSameBoot ? 0 : 1),
    ...(known.failed === undefined ? {} : { failed: known.failed }),
  };
}

/** A failed trial ends when a newer document asks for one more try. */
function isGoingOn(before: Trial | undefined, { wanted, retryFailed }: TrialFacts): boolean {
  if (before?.revision !== wanted.revision) return false;
  const isOver = before.failed !== undefined && before.generation < wanted.generation;
  return !(isOver && retryFailed);
}

/** A container that is ended so that it reads the new content has not crashed. */
function crashesSoFar({ health, orderedRestarts = 0 }: TrialFacts): number {
  return (health?.totalCrashes ?? 0) + (hasStarted(health) ? orderedRestarts : 0);
}

function hasStarted(health: TrialHealth | undefined): boolean {
  if (health === undefined) return false;
  if (health.hasBegun || health.totalCrashes > 0) return true;
  return ["Running", "Succeeded", "Failed"].includes(health.stage);
}

function countsNow(started: boolean, facts: TrialFacts): boolean {
  const { health, registryAnswers, hold, stopsFirst, misses = false } = facts;
  if (started) return !isAtWork(facts);
  if (hold !== undefined || health?.reason === "DependencyNotReady") return false;
  // Not started yet: only a missing object counts.
  if (health === undefined) return misses;
  return stopsFirst === true || health.stage !== "Downloading" || registryAnswers;
}

function failureOf(
  trial: Trial,
  facts: TrialFacts,
  goodAt: Monotonic | undefined,
): Failure | undefined {
  const { health, fatal, progressDeadlineSeconds: deadline, now } = facts;
  const isOver = now >= deadlineOf(trial, facts) && !isAtWork(facts);
  if (fatal !== undefined) return fatal;
  if (health?.stage === "Failed")
    return failureWith(health, "PodFailed", "the pod has failed for good");
  const crashes = (health?.totalCrashes ?? 0) - trial.crashesBefore;
  if (health !== undefined && crashes >= MAX_CRASHES)
    return failureWith(health, "CrashLoopBackOff", `it ended ${crashes} times before it was ready`);
  if (trial.boots >= BOOTS) {
    const message = `the machine was booted ${trial.boots - 1} times while it was judged`;
    return { reason: "RebootedTooOften", message };
  }
  if (!isOver) return undefined;
  if (goodAt !== undefined && now >= goodAt) {
    const message = `it is ready, but the broker was not reached again within ${deadline} s`;
    return { reason: "UpstreamLost", message };
  }
  const message = `it was not ready within ${deadline} s`;
  return { reason: "ProgressDeadlineExceeded", message: withReason(message, health) };
}

/** A pod that is meant to finish has no deadline while it runs and is Ready. */
function isAtWork({ isMeantToFinish, health }: TrialFacts): boolean {
  return isMeantToFinish && health?.stage === "Running" && health.readySince !== undefined;
}

function failureWith(health: TrialHealth, reason: string, message: string): Failure {
  return { reason, message: withReason(message, health) };
}

function withReason(message: string, health: TrialHealth | undefined): string {
  const more = [health?.reason, health?.message].filter((part) => part !== undefined);
  return more.length === 0 ? message : `${message} (${more.join(": ")})`;
}

/**
 * When its time is over, if it counts from now on. A process that has just begun to watch gives the pod time to show that
 * it is ready, but only so often: the update itself may be what ends the agent again and again.
 */
function deadlineOf(trial: Trial, facts: TrialFacts): Monotonic {
  const { now, progressDeadlineSeconds, minReadySeconds, watchedSince = trial.since } = facts;
  const own = now + progressDeadlineSeconds * 1000 - elapsedOf(trial, now);
  const look = Math.min(progressDeadlineSeconds, minReadySeconds + LOOK_SECONDS) * 1000;
  return Math.max(own, Math.min(watchedSince + look, own + progressDeadlineSeconds * 1000));
}

function reviewTime(
  trial: Trial,
  facts: TrialFacts,
  goodAt: Monotonic | undefined,
): Monotonic | undefined {
  const { now } = facts;
  const deadline = trial.counts ? deadlineOf(trial, facts) : undefined;
  // A time in the past has had its effect.
  return earliest([deadline, goodAt].filter((time) => time !== undefined && time > now));
}

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
