// Judges one new revision of a pod: good, failed, held, known bad, or still on trial. docs/updates.md has the rules for
// users.

import type { Failure, RolloutState, Trial } from "../api/pod/rollout.ts";
import { earliest, type Monotonic } from "../lib/clock.ts";
import { provenAt } from "./pod-health.ts";
import { type KnownBad, knownBad, isGoingOn } from "./bad-revisions.ts";
import type { TrialFacts, TrialHealth } from "./trial-facts.ts";
import { deadlineOf, failureOf, elapsedOf, isAtWork } from "./progress-deadline.ts";

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
  | KnownBad
  | {
      readonly type: "Held";
      readonly why: string;
      /** A trial that had not begun when the hold came; it continues afterwards. */
      readonly trial: Trial | undefined;
    };

/** As `crashesBefore`: the pod may have run before, and has not been looked at yet. */
const NOT_KNOWN = -1;

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

/** The trial up to this moment: begun now, continued in the same boot, or found after another boot. */
function continued(before: Trial | undefined, facts: TrialFacts): Trial {
  const { wanted, now, bootId } = facts;
  const known = isGoingOn(before, facts) ? before : undefined;
  const needsUpstream = (known ?? facts).needsUpstream === true;
  const started = known?.started === true || hasStarted(facts.health);
  const needs = needsUpstream ? { needsUpstream } : {};
  const base = { ...wanted, at: now, bootId, started, counts: countsNow(started, facts), ...needs };
  const noted = known?.crashesBefore ?? NOT_KNOWN;
  const crashesBefore = noted === NOT_KNOWN ? crashesSoFar(facts) : noted;
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

/** A container that is ended so that it reads the new content has not crashed. */
function crashesSoFar({ health, mayHaveRun, orderedRestarts = 0 }: TrialFacts): number {
  if (mayHaveRun === true) return NOT_KNOWN;
  return (health?.totalCrashes ?? 0) + (hasStarted(health) ? orderedRestarts : 0);
}

function hasStarted(health: TrialHealth | undefined): boolean {
  if (health === undefined) return false;
  if (health.hasBegun || health.totalCrashes > 0) return true;
  return ["Running", "Succeeded", "Failed"].includes(health.stage);
}

function countsNow(started: boolean, facts: TrialFacts): boolean {
  const { health, registryAnswers, hold, stopsFirst, othersStop, misses = false } = facts;
  if (started) return !isAtWork(facts);
  if (othersStop === true) return false;
  if (hold !== undefined || health?.reason === "DependencyNotReady") return false;
  // Not started yet: only a missing object counts.
  if (health === undefined) return misses;
  return stopsFirst === true || health.stage !== "Downloading" || registryAnswers;
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
