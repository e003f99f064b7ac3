// How often something may happen: a stock that is used up at once and comes back with time. Pure.

import type { Monotonic } from "./clock.ts";

export interface AllowancePolicy {
  readonly most: number;
  /** How many come back each second. */
  readonly perSecond: number;
}

export interface Allowance {
  readonly left: number;
  readonly at: Monotonic;
}

/** What is left after one more; undefined = not now. `before` undefined = the stock is full. */
export function take(
  before: Allowance | undefined,
  now: Monotonic,
  { most, perSecond }: AllowancePolicy,
): Allowance | undefined {
  const back = before === undefined ? 0 : ((now - before.at) / 1_000) * perSecond;
  const left = Math.min(most, (before?.left ?? most) + back);
  return left < 1 ? undefined : { left: left - 1, at: now };
}
