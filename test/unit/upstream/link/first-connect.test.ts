import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { firstConnectDelay, fleetPeriod } from "../../../../src/upstream/link/first-connect.ts";

const MINUTE = 60_000;
const MAX = 300_000;

describe("the first connect", () => {
  test.each([
    ["of a machine that has just booted is spread over half a minute", 20_000, MAX, 30_000],
    ["is so for five minutes", 5 * MINUTE - 1, MAX, 30_000],
    ["of a machine that is up waits a second at most", 5 * MINUTE, MAX, 1_000],
    ["never waits longer than the operator lets a node wait", 20_000, 5_000, 5_000],
    ["is spread over a second also where that is the longest", 20_000, 500, 1_000],
  ])("%s", (_, uptime, max, most) => {
    expect(firstConnectDelay({ uptime, max, dice: 0 })).toBe(0);
    expect(firstConnectDelay({ uptime, max, dice: 0.5 })).toBe(most / 2);
    expect(firstConnectDelay({ uptime, max, dice: 0.999_999 })).toBeCloseTo(most, 0);
  });

  test("is bounded by what comes after a failure, or by a second", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.integer({ min: 1_000, max: 3_600_000 }),
        fc.double({ min: 0, max: 0.999_999, noNaN: true }),
        (uptime, max, dice) => {
          const period = fleetPeriod(uptime, max);
          expect(period).toBeLessThanOrEqual(Math.min(30_000, max));
          expect(firstConnectDelay({ uptime, max, dice })).toBeLessThan(Math.max(1_000, period));
        },
      ),
    );
  });
});
