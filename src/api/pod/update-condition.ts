// How a pod tells that it does not run what its document asks for, or not surely: a condition of ours. Pure.

import type { PodCondition } from "../v1/pod-status.ts";
import type { Failure, PodStanding } from "./rollout.ts";

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
      const { reason, message } = standing.why;
      const words = takenBack(standing, message) + runsInstead(goodGeneration);
      return condition("agent/RolledBack", reason, words);
    }
  }
}

/** `why`: in words. */
export function takenBack({ isKnownBad }: { readonly isKnownBad: boolean }, why: string): string {
  return isKnownBad ? `known bad, not tried again: ${why}` : why;
}

/** What to say behind that of what runs now. */
export function runsInstead(goodGeneration: number | undefined): string {
  return goodGeneration === undefined ? "" : `; generation ${goodGeneration} runs`;
}

export function failureWords({ reason, message }: Failure): string {
  return `${reason}: ${message}`;
}

function condition(type: string, reason: string, message: string): PodCondition {
  return { type, status: "True", reason, message };
}
