import { expect, test } from "bun:test";
import fc from "fast-check";
import { takeToken, type TokenBucket } from "../../../src/lib/token-bucket.ts";
import { EVENT_BUDGET } from "../../../src/status/event-correlator.ts";

const MINUTE = 60_000;

/** How many of events at these times are let through. */
function through(times: readonly number[]): readonly number[] {
  let budget: TokenBucket | undefined;
  return times.filter((time) => {
    const after = takeToken(budget, time, EVENT_BUDGET);
    budget = after ?? budget;
    return after !== undefined;
  });
}

test("a burst of 25, then one every five minutes", () => {
  const everyMinute = Array.from({ length: 60 }, (_, minute) => minute * MINUTE);
  expect(through(Array.from({ length: 100 }, () => 7))).toHaveLength(25);
  const passed = through([...Array.from({ length: 25 }, () => 0), ...everyMinute]);
  expect(passed.slice(25)).toEqual(
    [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55].map((m) => m * MINUTE),
  );
});

test("after two hours of silence all of it is there again", () => {
  const burst = Array.from({ length: 30 }, () => 0);
  const later = Array.from({ length: 30 }, () => 125 * MINUTE);
  expect(through([...burst, ...later])).toHaveLength(50);
});

test("no stream gets more through any window than the burst and the refill", () => {
  const steps = fc.array(fc.integer({ min: 0, max: 10 * MINUTE }), { maxLength: 200 });
  fc.assert(
    fc.property(steps, fc.nat(), (gaps, start) => {
      let now = start;
      const passed = through(gaps.map((gap) => (now += gap)));
      passed.forEach((from, first) => {
        passed.slice(first).forEach((to, index) => {
          expect(index + 1).toBeLessThanOrEqual(25 + (to - from) / (5 * MINUTE) + 1e-6);
        });
      });
    }),
    { numRuns: 50 },
  );
});

test("a clock that steps back takes nothing away", () => {
  expect(takeToken({ tokens: 3, at: 1_000 }, 0, EVENT_BUDGET)).toEqual({ tokens: 2, at: 0 });
});
