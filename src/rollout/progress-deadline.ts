// What lets the trial of a new revision fail: `progressDeadlineSeconds` without being ready, or sooner what no waiting can
// mend: a missing image, three crashes, the third boot.

import type { Trial, Failure } from "../api/pod/rollout.ts";
import type { TrialFacts, TrialHealth } from "./trial-facts.ts";
import type { Monotonic } from "../lib/clock.ts";
import { MAX_CRASHES } from "./pod-health.ts";

const BOOTS = 3;
/** After its start the agent gives a running pod so long to show that it is ready. */
const LOOK_SECONDS = 30;

export function failureOf(
  trial: Trial,
  facts: TrialFacts,
  goodAt: Monotonic | undefined,
): Failure | undefined {
  const { health, refusal, fatal, progressDeadlineSeconds: deadline, now } = facts;
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
  return { reason: "ProgressDeadlineExceeded", message: withReason(message, health ?? refusal) };
}

function failureWith(health: TrialHealth, reason: string, message: string): Failure {
  return { reason, message: withReason(message, health) };
}

function withReason(message: string, why: Partial<Failure> | undefined): string {
  const more = [why?.reason, why?.message].filter((part) => part !== undefined);
  return more.length === 0 ? message : `${message} (${more.join(": ")})`;
}

/** Ms on trial by now. */
export function elapsedOf(trial: Trial, now: Monotonic): number {
  return trial.elapsedMs + (trial.counts ? Math.max(0, now - trial.at) : 0);
}

/**
 * When its time is over, if it counts from now on. A process that has just begun to watch gives the pod time to show that
 * it is ready, but only so often: the update itself may be what ends the agent again and again.
 */
export function deadlineOf(trial: Trial, facts: TrialFacts): Monotonic {
  const { now, progressDeadlineSeconds, minReadySeconds, watchedSince = trial.since } = facts;
  const own = now + progressDeadlineSeconds * 1000 - elapsedOf(trial, now);
  const look = Math.min(progressDeadlineSeconds, minReadySeconds + LOOK_SECONDS) * 1000;
  return Math.max(own, Math.min(watchedSince + look, own + progressDeadlineSeconds * 1000));
}

/** A pod that is meant to finish has no deadline while it runs and is Ready. */
export function isAtWork({ isMeantToFinish, health }: TrialFacts): boolean {
  return isMeantToFinish && health?.stage === "Running" && health.readySince !== undefined;
}
