// What the pods of one document do next, each by itself or all together (atomic).

import type { RolloutState } from "../api/pod/rollout.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import type { Monotonic } from "../lib/clock.ts";
import { judgeTrial } from "./trial.ts";
import { elapsedOf } from "./progress-deadline.ts";
import { mustSave } from "./checkpoint.ts";
import type { PodOnRollout } from "./trial-facts.ts";
import { together } from "./atomic-document.ts";
import { settle, type RolloutStep } from "./rollback.ts";

export type RolloutPolicy = Pick<UpdatePolicy, "onFailure" | "atomic">;

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
