import { expect, test } from "bun:test";

import type { NodeCondition } from "../../../src/api/v1/pod-status.ts";
import { ClockFloor } from "../../../src/lib/clock.ts";
import { timeConditions } from "../../../src/node/clock-behind.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { markIsDue } from "../../../src/node/set-clock.ts";

const BUILT = Date.UTC(2026, 5, 1);
const HOUR = 3_600_000;

test("a mark is taken along hourly, at first, and when the last one lies in the future", () => {
  expect(markIsDue(BUILT, undefined)).toBe(true);
  expect(markIsDue(BUILT + HOUR - 1, BUILT)).toBe(false);
  expect(markIsDue(BUILT + HOUR, BUILT)).toBe(true);
  expect(markIsDue(BUILT - 1, BUILT)).toBe(true);
});

test("a clock is behind when it is not synchronised and the proven time is a minute later", () => {
  const conditions = (now: number, synchronised = false): readonly NodeCondition[] =>
    timeConditions(
      {
        clock: new VirtualClock({ wall: now }),
        clockSynchronised: () => synchronised,
        clockFloor: new ClockFloor(BUILT),
      },
      [],
    );
  expect(conditions(12_000)).toEqual([
    {
      type: "ClockBehind",
      status: "True",
      reason: "BelowFloor",
      message:
        "the clock is behind: it is 2026-06-01T00:00:00Z at least; keep it in step (NTP), or let setClock: true step it forward when the agent starts",
    },
  ]);
  expect(conditions(BUILT - 60_001)).toEqual(conditions(12_000));
  expect(conditions(BUILT - 60_000)).toEqual([]);
  expect(conditions(BUILT + HOUR)).toEqual([]);
  expect(conditions(0, true)).toEqual([]);
});
