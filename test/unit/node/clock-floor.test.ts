import { expect, test } from "bun:test";

import { behindConditions, clockFloor, markIsDue, stepTo } from "../../../src/node/clock-floor.ts";

const BUILT = Date.UTC(2026, 5, 1);
const HOUR = 3_600_000;

test("the floor is the later of build and mark", () => {
  expect(clockFloor({ built: BUILT, marked: undefined })).toBe(BUILT);
  expect(clockFloor({ built: BUILT, marked: BUILT - 1 })).toBe(BUILT);
  expect(clockFloor({ built: BUILT, marked: BUILT + 1 })).toBe(BUILT + 1);
  expect(clockFloor({ built: 0, marked: undefined })).toBe(0);
});

test.each([
  ["1970, and it may", { now: 0 }, BUILT],
  ["a moment behind", { now: BUILT - 1 }, BUILT],
  ["at the floor", { now: BUILT }, undefined],
  ["ahead of the floor: never back", { now: BUILT + HOUR }, undefined],
  ["it may not", { now: 0, mayStep: false }, undefined],
  ["something keeps it in step", { now: 0, synchronised: true }, undefined],
] as const)("steps the clock: %s", (_, changes, to) => {
  const start = { mayStep: true, synchronised: false, now: 0, floor: BUILT };
  expect(stepTo({ ...start, ...changes })).toBe(to);
});

test("a mark is taken along hourly, at first, and when the last one lies in the future", () => {
  expect(markIsDue(BUILT, undefined)).toBe(true);
  expect(markIsDue(BUILT + HOUR - 1, BUILT)).toBe(false);
  expect(markIsDue(BUILT + HOUR, BUILT)).toBe(true);
  expect(markIsDue(BUILT - 1, BUILT)).toBe(true);
});

test("a clock is behind when nobody keeps it in step and what is proven is a minute later", () => {
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
