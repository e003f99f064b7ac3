// Decides when to connect again, and whether somebody else uses our name: a history of attempts in, a delay out.

import type { NodeCondition } from "../../api/v1/pod-status.ts";
import type { Monotonic } from "../../lib/clock.ts";
import { fleetPeriod } from "./first-connect.ts";

/** One try to connect, successful or not. */
export interface Attempt {
  readonly startedAt: Monotonic;
  /** When CONNACK came; absent = it never did. */
  readonly connectedAt?: Monotonic;
  readonly endedAt: Monotonic;
  /** Who ended the session; absent without one. */
  readonly by?: "broker" | "us" | "network";
  /** MQTT 5's DISCONNECT reason code. */
  readonly code?: number;
}

export interface Reconnect {
  /** Ms to wait from now on. */
  readonly delay: number;
  /** Two devices use one client id, as far as can be seen from here. */
  readonly duplicateIdentity: boolean;
}

export interface ReconnectInput {
  /** As `remember` made it. */
  readonly history: readonly Attempt[];
  readonly now: Monotonic;
  /** Longest back-off in ms (`mqtt.reconnectMax`). */
  readonly max: number;
  /** Uniform in [0, 1). */
  readonly dice: number;
}

/** A session of this many ms ends all doubt: back-off and suspicion start anew. */
export const STABLE_MS = 5 * 60_000;
/** A session that the broker closes within this time of CONNACK was kicked rather than ended. */
export const QUICK_MS = 10_000;
export const SESSION_TAKEN_OVER = 0x8e;
const INITIAL_MS = 1_000;
const KICKS = 3;
const WINDOW_MS = 60_000;
const PER_WINDOW = 2;
const REMEMBERED = 32;

/** The history with one more attempt; what lies before a stable session is of no more use. */
export function remember(history: readonly Attempt[], attempt: Attempt): readonly Attempt[] {
  if (isStable(attempt)) return [attempt];
  return [...history, attempt].slice(-REMEMBERED);
}

/** Full jitter, doubling up to `max`, and not sooner than a fleet that boots can bear; at most two connects a minute as soon as the broker kicks us out. */
export function decideReconnect({ history, now, max, dice }: ReconnectInput): Reconnect {
  const doubtful = history.filter((attempt) => !isStable(attempt));
  const cap = Math.min(max, INITIAL_MS * 2 ** Math.max(0, doubtful.length - 1));
  const hadSession = history.some(({ connectedAt }) => connectedAt !== undefined);
  const least = hadSession ? 0 : fleetPeriod(now, max);
  const backoff = Math.max(cap * dice, least);
  const duplicateIdentity = looksDuplicate(doubtful);
  const suspicious = duplicateIdentity || doubtful.some((attempt) => isQuick(attempt));
  if (!suspicious) return { delay: backoff, duplicateIdentity };
  const spread = duplicateIdentity ? (WINDOW_MS / PER_WINDOW) * (1 + dice) : 0;
  return { delay: Math.max(backoff, spread, windowEnd(history) - now), duplicateIdentity };
}

/** What to do about a name that two devices use. */
export function duplicateCondition(nodeName: string): NodeCondition {
  return {
    type: "DuplicateIdentity",
    status: "True",
    reason: "SessionTakenOver",
    message: `the broker keeps closing the session of ${nodeName}: another device seems to use the same name; on a copied one, stop the agent, delete identity.json in its stateDir and start it again`,
  };
}

/**
 * A broker that names the take-over is believed at once. Others just close: then three closes without a stable
 * session between count, if one came right after CONNACK. (Of two rivals only the faster sees three quick ones:
 * the other is left alone while the first one waits.)
 */
function looksDuplicate(doubtful: readonly Attempt[]): boolean {
  const kicks = doubtful.filter((attempt) => isKick(attempt));
  if (kicks.some(({ code }) => code === SESSION_TAKEN_OVER)) return true;
  return kicks.length >= KICKS && kicks.some((attempt) => isQuick(attempt));
}

function isStable({ connectedAt, endedAt }: Attempt): boolean {
  return connectedAt !== undefined && endedAt - connectedAt >= STABLE_MS;
}

/** Another reason code is another reason. */
function isKick({ by, code }: Attempt): boolean {
  return by === "broker" && (code === undefined || code === SESSION_TAKEN_OVER);
}

function isQuick(attempt: Attempt): boolean {
  const { connectedAt, endedAt } = attempt;
  return isKick(attempt) && connectedAt !== undefined && endedAt - connectedAt <= QUICK_MS;
}

/** Before this moment one more connect would be the third within a minute. */
function windowEnd(history: readonly Attempt[]): Monotonic {
  const connects = history.filter(({ connectedAt }) => connectedAt !== undefined);
  const first = connects.at(-PER_WINDOW);
  return first === undefined ? 0 : first.startedAt + WINDOW_MS;
}
