// When what is remembered of an update has to be written to the disk: at once, but for the clock of a trial.
// `document-rollout.ts` writes it before the step takes effect.

import { type RolloutState, type Trial, NO_ROLLOUT } from "../api/pod/rollout.ts";
import { sameValue } from "../lib/compare.ts";

/** How far the trial's clock on the disk may lag behind. */
export const CHECKPOINT_MS = 60_000;

/** Only a trial's clock may lag behind on the disk. */
export function mustSave(state: RolloutState, saved: RolloutState | undefined): boolean {
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
  // The next process would count the time in which it stands still, and fail what runs well.
  if (saved.counts && !trial.counts) return true;
  return trial.elapsedMs - saved.elapsedMs >= CHECKPOINT_MS;
}

/** Whether what was good last is the same. */
export function isSameGood(
  { good: a }: RolloutState,
  { good: b }: RolloutState = NO_ROLLOUT,
): boolean {
  return a?.revision === b?.revision && a?.generation === b?.generation;
}
