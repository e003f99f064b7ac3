// What an update's turn is worth saying: to the log's reader and to whoever reads events. Pure.

import type { Said } from "../api/events.ts";
import type { PodStanding } from "../api/rollout.ts";

/** undefined = nothing new, or nothing that anybody has to know. */
export function standingEvent(
  { standing, goodGeneration }: PodStanding,
  before: PodStanding["standing"] | undefined,
): Said | undefined {
  if (before !== undefined && sameWords(standing, before)) return undefined;
  switch (standing.type) {
    case "Good":
    case "OnTrial":
      return undefined;
    case "Held":
      return { type: "Normal", reason: "UpdateHeld", message: standing.why };
    case "Failed": {
      const { reason, message } = standing.why;
      return { type: "Warning", reason: "UpdateFailed", message: `${reason}: ${message}` };
    }
    case "RolledBack": {
      const { why, isKnownBad } = standing;
      const known = isKnownBad ? "known bad, not tried again: " : "";
      const message = `${known}${why.reason}: ${why.message}; generation ${goodGeneration} runs`;
      return { type: "Warning", reason: "RolledBack", message };
    }
  }
}

function sameWords(a: PodStanding["standing"], b: PodStanding["standing"]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
