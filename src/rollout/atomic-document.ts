// The policy `atomic`: all pods of a document are good together, go back together, or are held together.

import type { Failure } from "../api/pod/rollout.ts";
import type { PodOnRollout } from "./trial-facts.ts";
import { judgeTrial, type Judgement } from "./trial.ts";

const NOT_ALONE: Failure = {
  reason: "AtomicUpdate",
  message: "another pod of the document has failed, and the document is atomic",
};
const WAITS_FOR_ALL = "another pod of the document is held, and the document is atomic";

export interface Judged {
  readonly pod: PodOnRollout;
  readonly judgement: Judgement;
}

/** An atomic document: if one pod fails, all go back; if one is held, all are; none is good while another one is on trial. */
export function together(judged: readonly Judged[]): readonly Judged[] {
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

/** It is ready and the others are not yet: the deadline is for them, and its own clock stands still. */
function stillOnTrial({ state, facts }: PodOnRollout): Judgement | undefined {
  const progressDeadlineSeconds = Number.POSITIVE_INFINITY;
  const judgement = judgeTrial(state, { ...facts, upstream: "Awaited", progressDeadlineSeconds });
  if (judgement.type !== "OnTrial") return undefined;
  return { ...judgement, trial: { ...judgement.trial, counts: false } };
}
