// How many different events one object may have: a burst, then one every five minutes. client-go: EventSourceObjectSpamFilter

import type { Monotonic } from "../lib/clock.ts";

/** The events that an object may still have. */
export interface EventBudget {
  /** Whole and broken events. */
  readonly left: number;
  readonly at: Monotonic;
}

const BURST = 25;
const REFILL_MS = 300_000;

/** What is left after one more event; undefined = it is one too many, and the budget stays as it was. */
export function spend(before: EventBudget | undefined, now: Monotonic): EventBudget | undefined {
  const left = leftAt(before, now);
  return left < 1 ? undefined : { left: left - 1, at: now };
}

/** Nothing of it is spent: the same as no budget at all. */
export function isUnspent(budget: EventBudget, now: Monotonic): boolean {
  return leftAt(budget, now) >= BURST;
}

function leftAt(budget: EventBudget | undefined, now: Monotonic): number {
  if (budget === undefined) return BURST;
  return Math.min(BURST, budget.left + Math.max(0, now - budget.at) / REFILL_MS);
}
