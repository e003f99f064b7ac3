import { expect, test } from "bun:test";

import { behindConditions, markIsDue } from "../../../src/node/clock-floor.ts";

const BUILT = Date.UTC(2026, 5, 1);
const HOUR = 3_600_000;

test("a mark is taken along hourly, at first, and when the last one lies in the future", () => {
  expect(markIsDue(BUILT, undefined)).toBe(true);
  expect(markIsDue(BUILT + HOUR - 1, BUILT)).toBe(false);
  expect(markIsDue(BUILT + HOUR, BUILT)).toBe(true);
  expect(markIsDue(BUILT - 1, BUILT)).toBe(true);
});

test("a clock is behind when it is not synchronised and the proven time is a minute later", () => {
  const proven = { synchronised: false, floor: BUILT };
  expect(behindConditions({ ...proven, now: 12_000 })).toEqual([
    {
      type: "ClockBehind",
      status: "True",
      reason: "BelowFloor",
      message:
        "the clock is behind: it is 2026-06-01T00:00:00Z at least; keep it in step (NTP), or let setClock: true step it forward when the agent starts",
    },
  ]);
  expect(behindConditions({ ...proven, now: BUILT - 60_001 })).toEqual(
    behindConditions({ ...proven, now: 12_000 }),
  );
  expect(behindConditions({ ...proven, now: BUILT - 60_000 })).toEqual([]);
  expect(behindConditions({ ...proven, now: BUILT + HOUR })).toEqual([]);
  expect(behindConditions({ ...proven, now: 0, synchronised: true })).toEqual([]);
});
