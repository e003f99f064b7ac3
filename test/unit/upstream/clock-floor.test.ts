import { expect, test } from "bun:test";

import { clockFloor, markIsDue, stepTo } from "../../../src/upstream/clock-floor.ts";

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
