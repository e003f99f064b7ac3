// What an update's turn is worth saying: to the log's reader and to whoever reads events. Pure.

import type { Said } from "../api/v1/events.ts";
import type { PodStanding } from "../api/pod/rollout.ts";
import { failureWords, runsInstead, takenBack } from "../api/pod/update-condition.ts";

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
    case "Failed":
      return { type: "Warning", reason: "UpdateFailed", message: failureWords(standing.why) };
    case "RolledBack": {
      const why = failureWords(standing.why);
      const message = takenBack(standing, why) + runsInstead(goodGeneration);
      return { type: "Warning", reason: "RolledBack", message };
    }
  }
}

function sameWords(a: PodStanding["standing"], b: PodStanding["standing"]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
