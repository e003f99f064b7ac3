// What an update may do while the disk is full: nothing new begins, and the way back to what is on the disk stays open.

import type { RolloutStep } from "./rollback.ts";
import type { Revision, RolloutState } from "../api/pod/rollout.ts";

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
