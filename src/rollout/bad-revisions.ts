// The revisions of a pod that have failed: remembered, not tried again, and given another chance by a newer document with
// `retryFailed` or by a release.

import type {
  Failure,
  RolloutState,
  Trial,
  BadRevision,
  WantedRevision,
} from "../api/pod/rollout.ts";
import type { TrialFacts } from "./trial-facts.ts";
import { withoutUndefined } from "../lib/json.ts";

/** Bad revisions of each pod. */
const REMEMBERED = 5;

/** `isOld`: it failed when an earlier document asked for it. */
export interface KnownBad {
  readonly type: "KnownBad";
  readonly why: Failure;
  readonly isOld: boolean;
}

/** A newer document may ask for one more try; the document whose revision failed may not. */
export function knownBad({ bad }: RolloutState, facts: TrialFacts): KnownBad | undefined {
  const { wanted, retryFailed } = facts;
  const known = bad.find(({ revision }) => revision === wanted.revision);
  if (known === undefined) return undefined;
  const isOld = known.generation < wanted.generation;
  if (retryFailed && isOld) return undefined;
  const { reason, message } = known;
  return { type: "KnownBad", why: { reason, message }, isOld };
}

/** A failed trial ends when a newer document asks for one more try. */
export function isGoingOn(before: Trial | undefined, { wanted, retryFailed }: TrialFacts): boolean {
  if (before?.revision !== wanted.revision) return false;
  const isOver = before.failed !== undefined && before.generation < wanted.generation;
  return !(isOver && retryFailed);
}

/** Forgets bad revisions and a failed trial, so that they are tried again. */
export function forgetBad(state: RolloutState): RolloutState {
  const { trial, good } = state;
  const goesOn = trial?.failed === undefined ? trial : undefined;
  return { ...withoutUndefined({ good, trial: goesOn }), bad: [] };
}

/** With this one as the newest. */
export function withBad(
  bad: readonly BadRevision[],
  wanted: WantedRevision,
  why: Failure,
): readonly BadRevision[] {
  return [...withoutBad(bad, wanted), { ...wanted, ...why }].slice(-REMEMBERED);
}

export function withoutBad(
  bad: readonly BadRevision[],
  { revision }: WantedRevision,
): readonly BadRevision[] {
  return bad.filter((one) => one.revision !== revision);
}
