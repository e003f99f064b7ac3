// Decides when to connect for the first time and again, with jitter and back-off up to `mqtt.reconnectMax`. After a
// power cut a whole fleet boots in the same second.

import type { Monotonic } from "../../lib/clock.ts";
import { type Attempt, looksDuplicate, isQuick } from "./duplicate-identity.ts";

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
const INITIAL_MS = 1_000;
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

/** Before this moment one more connect would be the third within a minute. */
function windowEnd(history: readonly Attempt[]): Monotonic {
  const connects = history.filter(({ connectedAt }) => connectedAt !== undefined);
  const first = connects.at(-PER_WINDOW);
  return first === undefined ? 0 : first.startedAt + WINDOW_MS;
}

function isStable({ connectedAt, endedAt }: Attempt): boolean {
  return connectedAt !== undefined && endedAt - connectedAt >= STABLE_MS;
}
