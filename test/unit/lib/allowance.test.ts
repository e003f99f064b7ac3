import { expect, test } from "bun:test";
import { take, type Allowance } from "../../../src/lib/allowance.ts";

const policy = { most: 3, perSecond: 0.5 };

test("a stock is used up at once and comes back with time, never beyond what it was", () => {
  let left: Allowance | undefined;
  const taken = (now: number): boolean => {
    const next = take(left, now, policy);
    left = next ?? left;
    return next !== undefined;
  };
  expect([taken(0), taken(0), taken(0), taken(0)]).toEqual([true, true, true, false]);
  expect([taken(1_999), taken(2_000), taken(2_001)]).toEqual([false, true, false]);
  expect([1, 2, 3, 4].map(() => taken(1_000_000))).toEqual([true, true, true, false]);
});
