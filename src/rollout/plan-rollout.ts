// What the pods of one document do next, each by itself or all together: try the new revision, roll back, or wait.

import {
  NO_ROLLOUT,
  type BadRevision,
  type Failure,
  type OnFailure,
  type Revision,
  type RolloutStatus,
  type RolloutState,
  type Trial,
  type WantedRevision,
} from "../api/pod/rollout.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import type { Monotonic } from "../lib/clock.ts";
import { withoutUndefined } from "../lib/json.ts";
import { sameValue } from "../lib/compare.ts";
import { elapsedOf, judgeTrial, type Judgement, type TrialFacts } from "./trial.ts";

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

export type RolloutPolicy = Pick<UpdatePolicy, "onFailure" | "atomic">;

export interface RolloutStep {
  readonly name: string;
  /** `Nothing`: it is stopped until it is released or changed. */
  readonly run: "Wanted" | "Good" | "Nothing";
  readonly status: RolloutStatus;
  readonly state: RolloutState;
  /** Whether `state` has to be on the disk before `run` takes effect. */
  readonly save: boolean;
  /** When time alone may change the step. */
  readonly reviewAt: Monotonic | undefined;
}

/** Bad revisions of each pod. */
const REMEMBERED = 5;
/** How far the trial's clock on the disk may lag behind. */
const CHECKPOINT_MS = 60_000;
const NOT_ALONE: Failure = {
  reason: "AtomicUpdate",
  message: "another pod of the document has failed, and the document is atomic",
};
const WAITS_FOR_ALL = "another pod of the document is held, and the document is atomic";

/** `saved`: the states on the disk, by name. */
export function planRollout(
  pods: readonly PodOnRollout[],
  policy: RolloutPolicy,
  saved: ReadonlyMap<string, RolloutState>,
): readonly RolloutStep[] {
  const judged = pods.map((pod) => ({ pod, judgement: judgeTrial(pod.state, pod.facts) }));
  const agreed = policy.atomic ? together(judged) : judged;
  return agreed.map(({ pod, judgement }) => {
    const step = settle(pod, judgement, pod.onFailure ?? policy.onFailure);
    const isLost = pod.lost !== undefined && step.state.good === undefined;
    const state = isLost ? { ...step.state, good: pod.lost } : step.state;
    return { ...step, state, save: mustSave(state, saved.get(pod.name)) };
  });
}

/** What may be done of a step while nothing can be written: only what is on the disk already, so that a power cut loses
 * no decision. */
export function stepByDisk(
  step: RolloutStep,
  wanted: Revision,
  saved: RolloutState | undefined,
): RolloutStep {
  // A rollback to a revision that is on the disk is decided again after a power cut.
  if (step.run === "Good" && saved?.good?.revision === step.state.good?.revision) return step;
  const run = runByDisk(wanted, saved);
  return step.run === run ? step : { ...step, run, status: { type: "OnTrial" } };
}

function runByDisk(wanted: Revision, saved: RolloutState | undefined): "Wanted" | "Good" {
  if (saved?.good === undefined || saved.good.revision === wanted) return "Wanted";
  return saved.trial?.revision === wanted ? "Wanted" : "Good";
}

/** As a new process finds it: time without an agent does not count for a trial that had not begun. */
export function unattended(state: RolloutState): RolloutState {
  const { trial } = state;
  if (trial === undefined || trial.started) return state;
  return { ...state, trial: { ...trial, counts: false } };
}

/** Stops its clock from now on. */
export function paused(state: RolloutState, now: Monotonic): RolloutState {
  const { trial } = state;
  if (trial === undefined) return state;
  return {
    ...state,
    trial: { ...trial, elapsedMs: elapsedOf(trial, now), at: now, counts: false },
  };
}

/** Forgets bad revisions and a failed trial, so that they are tried again. */
export function released(state: RolloutState): RolloutState {
  const { trial, good } = state;
  const goesOn = trial?.failed === undefined ? trial : undefined;
  return { ...withoutUndefined({ good, trial: goesOn }), bad: [] };
}

interface Judged {
  readonly pod: PodOnRollout;
  readonly judgement: Judgement;
}

/** An atomic document: if one pod fails, all go back; if one is held, all are; none is good before all are. */
function together(judged: readonly Judged[]): readonly Judged[] {
  const has = (type: Judgement["type"]): boolean =>
    judged.some(({ judgement }) => judgement.type === type);
  const isOver =
    has("Failed") || has("KnownBad") || judged.some(({ judgement }) => hasFailedBefore(judgement));
  return judged.map(({ pod, judgement }) => {
    const isNew = pod.state.good?.revision !== pod.facts.wanted.revision;
    const isOpen = judgement.type === "OnTrial" || (judgement.type === "Good" && isNew);
    if (!isOpen) return { pod, judgement };
    if (isOver && pod.state.good !== undefined)
      return { pod, judgement: { type: "KnownBad", why: NOT_ALONE, isOld: false } };
    if (has("Held") && pod.state.trial?.started !== true && pod.state.good !== undefined)
      return { pod, judgement: { type: "Held", why: WAITS_FOR_ALL, trial: pod.state.trial } };
    if (judgement.type === "Good" && has("OnTrial"))
      return { pod, judgement: stillOnTrial(pod) ?? judgement };
    return { pod, judgement };
  });
}

/** It has failed before, and is on trial again. */
function hasFailedBefore(judgement: Judgement): boolean {
  return judgement.type === "OnTrial" && judgement.trial.failed !== undefined;
}

/** It is ready and the others are not yet: the deadline is for them. */
function stillOnTrial({ state, facts }: PodOnRollout): Judgement | undefined {
  const progressDeadlineSeconds = Number.POSITIVE_INFINITY;
  const judgement = judgeTrial(state, { ...facts, upstream: "Awaited", progressDeadlineSeconds });
  return judgement.type === "OnTrial" ? judgement : undefined;
}

type Settled = Omit<RolloutStep, "save">;

function settle(pod: PodOnRollout, judgement: Judgement, onFailure: OnFailure): Settled {
  const { name, state, facts } = pod;
  const { good, bad } = state;
  const common = { name, reviewAt: undefined };
  switch (judgement.type) {
    case "Good": {
      const next = { good: facts.wanted, bad: bad.filter((one) => !isOf(one, facts)) };
      return { ...common, run: "Wanted", status: { type: "Good" }, state: next };
    }
    case "Held": {
      const status = { type: "Held", why: judgement.why } as const;
      const next = { ...withoutUndefined({ good, trial: judgement.trial }), bad };
      return { ...common, run: "Good", status, state: next };
    }
    case "KnownBad": {
      const { why, isOld: isKnownBad } = judgement;
      const status = { type: "RolledBack", why, isKnownBad } as const;
      return { ...common, run: "Good", status, state: { ...withoutUndefined({ good }), bad } };
    }
    case "OnTrial":
      return onTrial(pod, judgement, onFailure);
    case "Failed":
      return failed(pod, judgement, onFailure);
  }
}

function onTrial(
  { name, state, facts }: PodOnRollout,
  { trial, reviewAt }: Extract<Judgement, { type: "OnTrial" }>,
  onFailure: OnFailure,
): Settled {
  const checkpoint = facts.now + CHECKPOINT_MS;
  // A stopped pod shows no failure any more, and must not begin anew.
  const isStopped = trial.failed !== undefined && onFailure === "hold";
  return {
    name,
    run: isStopped ? "Nothing" : "Wanted",
    status: trial.failed === undefined ? { type: "OnTrial" } : failure(trial.failed),
    state: { ...state, trial },
    reviewAt: reviewAt === undefined ? checkpoint : Math.min(reviewAt, checkpoint),
  };
}

function failed(
  { name, state, facts }: PodOnRollout,
  { trial, why, reviewAt }: Extract<Judgement, { type: "Failed" }>,
  onFailure: OnFailure,
): Settled {
  const { good, bad } = state;
  if (onFailure === "rollback" && good !== undefined) {
    const remembered = [
      ...bad.filter((one) => !isOf(one, facts)),
      { ...facts.wanted, ...why },
    ].slice(-REMEMBERED);
    return {
      name,
      run: "Good",
      status: { type: "RolledBack", why, isKnownBad: false },
      state: { good, bad: remembered },
      reviewAt: undefined,
    };
  }
  const first = trial.failed ?? why;
  return {
    name,
    run: onFailure === "hold" ? "Nothing" : "Wanted",
    status: failure(first),
    state: { ...state, trial: { ...trial, failed: first } },
    reviewAt,
  };
}

function failure(why: Failure): RolloutStatus {
  return { type: "Failed", why };
}

function isOf({ revision }: BadRevision, { wanted }: TrialFacts): boolean {
  return revision === wanted.revision;
}

/** Only a trial's clock may lag behind on the disk. */
function mustSave(state: RolloutState, saved: RolloutState | undefined): boolean {
  if (saved === undefined) return state.good !== undefined || state.trial !== undefined;
  if (!isSameGood(state, saved) || !sameValue(state.bad, saved.bad)) return true;
  const { trial } = state;
  if (trial === undefined || saved.trial === undefined) return trial !== saved.trial;
  return differs(trial, saved.trial);
}

function differs(trial: Trial, saved: Trial): boolean {
  if (trial.revision !== saved.revision || trial.generation !== saved.generation) return true;
  if (trial.started !== saved.started || trial.failed?.reason !== saved.failed?.reason) return true;
  if (trial.bootId !== saved.bootId) return true;
  // After a failure the clock has no effect.
  if (trial.failed !== undefined) return false;
  return trial.elapsedMs - saved.elapsedMs >= CHECKPOINT_MS;
}

/** Whether what was good last is the same. */
export function isSameGood(
  { good: a }: RolloutState,
  { good: b }: RolloutState = NO_ROLLOUT,
): boolean {
  return a?.revision === b?.revision && a?.generation === b?.generation;
}
