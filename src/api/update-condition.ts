// How a pod tells that it does not run what its document asks for, or not surely: a condition of ours. Pure.

import type { PodCondition } from "./pod-status.ts";
import type { PodStanding } from "./rollout.ts";

/** Types of conditions about an update, and what a person reads beside the status. */
export const UPDATE_CONDITIONS: Readonly<Record<string, string>> = {
  "agent/RolledBack": "rolled back",
  "agent/UpdateFailed": "update failed",
  "agent/UpdateHeld": "update held",
  "agent/UpdatePending": "update pending",
};

/** undefined = it runs what it should, as far as anybody knows. */
export function updateCondition({
  standing,
  goodGeneration,
}: PodStanding): PodCondition | undefined {
  switch (standing.type) {
    case "Good":
    case "OnTrial":
      return undefined;
    case "Held":
      return condition("agent/UpdateHeld", "Held", standing.why);
    case "Failed":
      return condition("agent/UpdateFailed", standing.why.reason, standing.why.message);
    case "RolledBack": {
      const runs = goodGeneration === undefined ? "" : `; generation ${goodGeneration} runs`;
      const known = standing.isKnownBad ? "known bad, not tried again: " : "";
      const { reason, message } = standing.why;
      return condition("agent/RolledBack", reason, `${known}${message}${runs}`);
    }
  }
}

function condition(type: string, reason: string, message: string): PodCondition {
  return { type, status: "True", reason, message };
}
