// Decides when to connect for the first time and again, and whether another device uses the node's name. After a power
// cut a whole fleet boots in the same second.

import type { NodeCondition } from "../../api/v1/pod-status.ts";
import type { Monotonic } from "../../lib/clock.ts";

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

interface Reconnect {
  /** Ms to wait from now on. */
  readonly delay: number;
  /** Two devices seem to use one client id. */
  readonly duplicateIdentity: boolean;
}

interface ConnectMoment {
  /** Ms since the machine booted. */
  readonly now: Monotonic;
  /** Longest wait between two attempts in ms (`mqtt.reconnectMax`). */
  readonly max: number;
  /** Uniform in [0, 1). */
  readonly dice: number;
}

interface ReconnectInput extends ConnectMoment {
  /** As returned by `remember`. */
  readonly history: readonly Attempt[];
}

/** A session of this many ms is stable: back-off and suspicion start again from zero. */
export const STABLE_MS = 5 * 60_000;
/** A session that the broker closes within this time of CONNACK was taken over rather than ended. */
export const QUICK_MS = 10_000;
export const SESSION_TAKEN_OVER = 0x8e;
const INITIAL_MS = 1_000;
const KICKS = 3;
const WINDOW_MS = 60_000;
const PER_WINDOW = 2;
const REMEMBERED = 32;
/** A machine that booted more recently may have been switched on together with its whole fleet. */
const JUST_BOOTED_MS = 5 * 60_000;
/** A fleet that boots at once is spread over this many ms: 3.3 % of it in a second. */
const FLEET_SPREAD_MS = 30_000;
/** For an agent that started without a boot, ms. */
const START_SPREAD_MS = 1_000;

/** Ms to wait before the first attempt. */
export function firstConnectDelay({ now, max, dice }: ConnectMoment): number {
  return Math.max(START_SPREAD_MS, fleetPeriod(now, max)) * dice;
}

/**
 * Least ms from a failed attempt to the next, while there has been no session since the start. Each node keeps its place
 * in the half minute, so equally many connect in each second once the broker is back; random waits would bunch.
 */
export function fleetPeriod(uptime: Monotonic, max: number): number {
  return uptime < JUST_BOOTED_MS ? Math.min(FLEET_SPREAD_MS, max) : 0;
}

/** The history with one more attempt; attempts before a stable session are dropped. */
export function remember(history: readonly Attempt[], attempt: Attempt): readonly Attempt[] {
  if (isStable(attempt)) return [attempt];
  return [...history, attempt].slice(-REMEMBERED);
}

/** Full jitter, doubling up to `max`, at least `fleetPeriod`; at most two connects a minute once the broker closes sessions
 * early. */
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

/** The condition of a name that two devices use, with the remedy. */
export function duplicateCondition(nodeName: string): NodeCondition {
  return {
    type: "DuplicateIdentity",
    status: "True",
    reason: "SessionTakenOver",
    message: `the broker keeps closing the session of ${nodeName}: another device seems to use the same name; on a copied one, stop the agent, delete identity.json in its stateDir and start it again`,
  };
}

/**
 * A broker that reports the take-over is believed at once. Others only close the connection: then three closes without a
 * stable session in between count, if one followed CONNACK closely. (Of two rivals only the faster one sees three quick
 * closes, as the slower one stays connected while the faster one waits.)
 */
function looksDuplicate(doubtful: readonly Attempt[]): boolean {
  const kicks = doubtful.filter((attempt) => isKick(attempt));
  if (kicks.some(({ code }) => code === SESSION_TAKEN_OVER)) return true;
  return kicks.length >= KICKS && kicks.some((attempt) => isQuick(attempt));
}

function isStable({ connectedAt, endedAt }: Attempt): boolean {
  return connectedAt !== undefined && endedAt - connectedAt >= STABLE_MS;
}

/** Other reason codes have other causes. */
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
