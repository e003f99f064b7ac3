// Whether another device uses the node's name: the condition DuplicateIdentity, from how the last sessions ended.

import type { Monotonic } from "../../lib/clock.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";

/** One attempt to connect, successful or not. */
export interface Attempt {
  readonly startedAt: Monotonic;
  /** When CONNACK arrived; absent = it did not. */
  readonly connectedAt?: Monotonic;
  readonly endedAt: Monotonic;
  /** Who ended the session; absent without one. */
  readonly by?: "broker" | "us" | "network";
  /** MQTT 5's DISCONNECT reason code. */
  readonly code?: number;
}

/** A session that the broker closes within this time of CONNACK was taken over rather than ended. */
export const QUICK_MS = 10_000;
export const SESSION_TAKEN_OVER = 0x8e;
const KICKS = 3;

/** The condition of a name that two devices use, with the remedy. */
export function duplicateCondition(nodeName: string): NodeCondition {
  return {
    type: "DuplicateIdentity",
    status: "True",
    reason: "SessionTakenOver",
    message: `the broker keeps closing the session of ${nodeName}: another device seems to use the same name; on a copied one, run agent shutdown, stop the agent, run agent prepare-image and start it again`,
  };
}

/**
 * A broker that reports the take-over is believed at once. Others only close the connection: then three closes without a
 * stable session in between count, if one followed CONNACK closely. (Of two rivals only the faster one sees three quick
 * closes, as the slower one stays connected while the faster one waits.)
 */
export function looksDuplicate(doubtful: readonly Attempt[]): boolean {
  const kicks = doubtful.filter((attempt) => isKick(attempt));
  if (kicks.some(({ code }) => code === SESSION_TAKEN_OVER)) return true;
  return kicks.length >= KICKS && kicks.some((attempt) => isQuick(attempt));
}

/** Other reason codes have other causes. */
function isKick({ by, code }: Attempt): boolean {
  return by === "broker" && (code === undefined || code === SESSION_TAKEN_OVER);
}

export function isQuick(attempt: Attempt): boolean {
  const { connectedAt, endedAt } = attempt;
  return isKick(attempt) && connectedAt !== undefined && endedAt - connectedAt <= QUICK_MS;
}
