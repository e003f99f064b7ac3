// What runs after the judgement of a trial: the wanted revision, the last good one (a rollback), or nothing, as onFailure
// asks.

import type { Failure, OnFailure, RolloutStatus, RolloutState } from "../api/pod/rollout.ts";
import type { Monotonic } from "../lib/clock.ts";
import { withoutUndefined } from "../lib/json.ts";
import type { Judgement } from "./trial.ts";
import { withoutBad, withBad } from "./bad-revisions.ts";
import { CHECKPOINT_MS } from "./checkpoint.ts";
import type { PodOnRollout } from "./trial-facts.ts";

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

export type Settled = Omit<RolloutStep, "save">;

/** What a judgement means for the pod. */
export function settle(pod: PodOnRollout, judgement: Judgement, onFailure: OnFailure): Settled {
  const { name, state, facts } = pod;
  const { good, bad } = state;
  const common = { name, reviewAt: undefined };
  switch (judgement.type) {
    case "Good": {
      const next = { good: facts.wanted, bad: withoutBad(bad, facts.wanted) };
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
    return {
      name,
      run: "Good",
      status: { type: "RolledBack", why, isKnownBad: false },
      state: { good, bad: withBad(bad, facts.wanted, why) },
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
