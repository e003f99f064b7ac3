// Decides how long the first connect waits: after a power cut a whole fleet boots in the same second.

import type { Monotonic } from "../../lib/clock.ts";

/** A machine that booted more recently may have been switched on together with its whole fleet. */
const JUST_BOOTED_MS = 5 * 60_000;
/** A fleet that boots at once is spread over this many ms: 3.3 % of it in a second. */
const FLEET_SPREAD_MS = 30_000;
/** For an agent that started without a boot, ms. */
const START_SPREAD_MS = 1_000;

export interface FirstConnectInput {
  /** Ms since the machine booted. */
  readonly uptime: Monotonic;
  /** Longest wait between two attempts in ms (`mqtt.reconnectMax`). */
  readonly max: number;
  /** Uniform in [0, 1). */
  readonly dice: number;
}

/** Ms to wait before the first attempt. */
export function firstConnectDelay({ uptime, max, dice }: FirstConnectInput): number {
  return Math.max(START_SPREAD_MS, fleetPeriod(uptime, max)) * dice;
}

/**
 * Least ms from a failed attempt to the next, while there has been no session since the start. Each node keeps its place
 * in the half minute, so equally many connect in each second once the broker is back; random waits would bunch.
 */
export function fleetPeriod(uptime: Monotonic, max: number): number {
  return uptime < JUST_BOOTED_MS ? Math.min(FLEET_SPREAD_MS, max) : 0;
}
