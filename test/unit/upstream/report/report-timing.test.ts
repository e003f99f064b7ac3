import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  afterChange,
  afterReport,
  connectScope,
  initialReportState,
  larger,
  refreshScope,
  whenToReport,
  type ReportState,
} from "../../../../src/upstream/report/report-timing.ts";

const FREQUENCY = 900_000;
const start = initialReportState(0, FREQUENCY, 0.5);

function changedAt(state: ReportState, ...times: readonly number[]): ReportState {
  let next = state;
  for (const at of times) next = afterChange(next, at);
  return next;
}

describe("whenToReport", () => {
  test("spreads the first refresh over the period, later ones follow the last report", () => {
    expect(whenToReport(start)).toEqual({ at: 450_000, why: "Refresh" });
    expect(whenToReport(afterReport(1000, FREQUENCY))).toEqual({ at: 901_000, why: "Refresh" });
  });

  test("reports the first change at once", () => {
    expect(whenToReport(changedAt(start, 5000))).toEqual({ at: 5000, why: "Change" });
  });

  test("reports a change at once when the last report is ten seconds old", () => {
    const state = changedAt(afterReport(1000, FREQUENCY), 11_000, 11_500);
    expect(whenToReport(state)).toEqual({ at: 11_000, why: "Change" });
  });

  test("keeps reports ten seconds apart", () => {
    const state = changedAt(afterReport(1000, FREQUENCY), 2000);
    expect(whenToReport(state)).toEqual({ at: 11_000, why: "Change" });
  });

  test("waits for two quiet seconds", () => {
    const state = changedAt(afterReport(1000, FREQUENCY), 10_000, 10_800);
    expect(whenToReport(state)).toEqual({ at: 12_800, why: "Change" });
  });

  test("a change every second for an hour is reported at least every twenty and at most every ten seconds", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 50 }), (gaps) => {
        let state = start;
        let now = 0;
        let last: number | undefined;
        for (const gap of gaps) {
          const until = now + gap;
          let next = whenToReport(state);
          while (next.why === "Change" && next.at <= until) {
            now = Math.max(now, next.at);
            if (last !== undefined) {
              expect(now - last).toBeGreaterThanOrEqual(10_000);
              expect(now - last).toBeLessThanOrEqual(20_000);
            }
            last = now;
            state = afterReport(now, FREQUENCY);
            next = whenToReport(state);
          }
          now = until;
          state = afterChange(state, now);
        }
      }),
    );
  });
});

test("every fourth refresh takes the pods along", () => {
  expect([1, 2, 3, 4, 5, 8].map(refreshScope)).toEqual([
    "report",
    "report",
    "report",
    "all",
    "report",
    "all",
  ]);
});

test("a session gets every report, also a resumed one, except a resumed one of a metered connection", () => {
  expect(connectScope(false, "normal")).toBe("all");
  expect(connectScope(false, "metered")).toBe("all");
  expect(connectScope(true, "normal")).toBe("all");
  expect(connectScope(true, "metered")).toBe("nothing");
});

test("what is owed is the larger of both", () => {
  expect(larger("nothing", "report")).toBe("report");
  expect(larger("all", "report")).toBe("all");
  expect(larger("nothing", "nothing")).toBe("nothing");
});
