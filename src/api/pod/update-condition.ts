// Our conditions on a pod that does not run the spec of its source, or not for certain.

import type { PodCondition } from "../v1/pod-status.ts";
import type { Failure, PodRolloutStatus } from "./rollout.ts";

/** Types of conditions about an update, and what a person reads beside the status. */
export const UPDATE_CONDITIONS: Readonly<Record<string, string>> = {
  "agent/RolledBack": "rolled back",
  "agent/UpdateFailed": "update failed",
  "agent/UpdateHeld": "update held",
  "agent/UpdatePending": "update pending",
};

/** A newer spec of the pod's name that pulls or waits while this pod runs on. */
export interface PendingUpdate {
  readonly specHash: string;
  readonly reason: string;
  readonly message: string;
}

/** The conditions of a status and those about its updates. */
export function withUpdateConditions(
  conditions: readonly PodCondition[],
  pending: PendingUpdate | undefined,
  update: PodCondition | undefined,
): readonly PodCondition[] {
  return [
    ...conditions,
    ...(pending === undefined ? [] : [pendingCondition(pending)]),
    ...(update === undefined ? [] : [update]),
  ];
}

function pendingCondition({ specHash, reason, message }: PendingUpdate): PodCondition {
  return condition("agent/UpdatePending", reason, `spec ${specHash}: ${message}`);
}

/** undefined = it runs the spec of its source, or that is not known yet. */
export function updateCondition({
  status,
  goodGeneration,
}: PodRolloutStatus): PodCondition | undefined {
  switch (status.type) {
    case "Good":
    case "OnTrial":
      return undefined;
    case "Held":
      return condition("agent/UpdateHeld", "Held", status.why);
    case "Failed":
      return condition("agent/UpdateFailed", status.why.reason, status.why.message);
    case "RolledBack": {
      const { reason, message } = status.why;
      const words = takenBack(status, message) + runsInstead(goodGeneration);
      return condition("agent/RolledBack", reason, words);
    }
  }
}

/** `why`: in words. */
export function takenBack({ isKnownBad }: { readonly isKnownBad: boolean }, why: string): string {
  return isKnownBad ? `known bad, not tried again: ${why}` : why;
}

/** Shown behind the status of what runs now. */
export function runsInstead(goodGeneration: number | undefined): string {
  return goodGeneration === undefined ? "" : `; generation ${goodGeneration} runs`;
}

export function failureWords({ reason, message }: Failure): string {
  return `${reason}: ${message}`;
}

function condition(type: string, reason: string, message: string): PodCondition {
  return { type, status: "True", reason, message };
}
