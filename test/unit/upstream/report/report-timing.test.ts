import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  afterChange,
  afterLook,
  afterReport,
  connectScope,
  initialReportState,
  larger,
  refreshScope,
  REPORT_CREDITS,
  whenToLook,
  whenToReport,
  type ReportPolicy,
} from "../../../../src/upstream/report/report-timing.ts";

const FREQUENCY = 900_000;
const NORMAL: ReportPolicy = { credit: REPORT_CREDITS.normal, frequency: FREQUENCY };
const METERED: ReportPolicy = { credit: REPORT_CREDITS.metered, frequency: 86_400_000 };
const start = initialReportState(0, FREQUENCY, 0.5);

/** The moments of all reports, in ms, if the content changes at these moments. */
function reportTimes(changes: readonly number[], policy: ReportPolicy): readonly number[] {
  const reports: number[] = [];
  let state = initialReportState(0, policy.frequency, 0.5);
  const reportUntil = (until: number): void => {
    for (;;) {
      const next = whenToReport(state, policy.credit);
      if (next.why === "Refresh" || next.at > until) return;
      reports.push(next.at);
      state = afterReport(state, next, policy);
    }
  };
  for (const at of changes) {
    reportUntil(at);
    state = afterChange(state, at);
  }
  reportUntil(Infinity);
  return reports;
}

describe("whenToReport", () => {
  test("spreads the first refresh over the period, later ones follow the last report", () => {
    expect(whenToReport(start, NORMAL.credit)).toEqual({ at: 450_000, why: "Refresh" });
    const after = afterReport(start, { at: 1000, why: "Refresh" }, NORMAL);
    expect(whenToReport(after, NORMAL.credit)).toEqual({ at: 901_000, why: "Refresh" });
  });

  test("reports a change after 200 ms, with every change in between", () => {
    expect(reportTimes([5000], NORMAL)).toEqual([5200]);
    expect(reportTimes([5000, 5100, 5199], NORMAL)).toEqual([5200]);
    expect(reportTimes([5000, 5250], NORMAL)).toEqual([5200, 5450]);
  });

  test("pays six reports from the credit, then one every ten seconds", () => {
    const changes = [0, 1, 2, 3, 4, 5, 6, 11].map((second) => second * 1000);
    expect(reportTimes(changes, NORMAL)).toEqual([
      200, 1200, 2200, 3200, 4200, 5200, 10_200, 20_200,
    ]);
  });

  test("pays three reports and one every ten minutes on a metered connection", () => {
    const changes = [0, 1, 2, 3].map((second) => second * 1000);
    expect(reportTimes(changes, METERED)).toEqual([200, 1200, 2200, 600_200]);
  });

  test("a refresh costs no credit, and reports what has changed", () => {
    const spent = [0, 1, 2].reduce(
      (state, second) => afterReport(state, { at: second * 1000, why: "Change" }, METERED),
      { ...start, refreshAt: 0 },
    );
    const soon = { ...afterChange(spent, 3000), refreshAt: 4000 };
    expect(whenToReport(soon, METERED.credit)).toEqual({ at: 4000, why: "Refresh" });
    const after = afterReport(soon, { at: 4000, why: "Refresh" }, METERED);
    expect(after).toEqual({ refilledAt: spent.refilledAt, refreshAt: 86_404_000 });
  });

  test("a content that changes for an hour costs at most 370 reports", () => {
    const everySecond = Array.from({ length: 3600 }, (_, second) => second * 1000);
    expect(reportTimes(everySecond, NORMAL).length).toBeLessThanOrEqual(370);
    expect(reportTimes(everySecond, METERED).length).toBeLessThanOrEqual(10);
  });

  test("no change waits longer than its credit, and no storm is paid twice", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(gaps, fc.constantFrom(NORMAL, METERED), (all, policy) => {
        const { reports, refillMs } = policy.credit;
        let now = 0;
        const changes = all.map((gap) => (now += gap));
        const times = reportTimes(changes, policy);
        expect(
          Math.min(...changes.map((at) => times.filter((time) => time > at).length)),
        ).toBeGreaterThan(0);
        for (const [first, from] of times.entries())
          for (const [last, to] of times.entries().drop(first))
            expect(last - first + 1).toBeLessThanOrEqual(
              reports + Math.floor((to - from) / refillMs),
            );
      }),
    );
  });
});

describe("whenToLook", () => {
  const spent = [0, 1, 2, 3, 4, 5].reduce(
    (state, second) => afterReport(state, { at: second * 1000, why: "Change" }, NORMAL),
    start,
  );

  test("looks for an answer where a change has to wait for credit", () => {
    const changed = afterChange(afterChange(spent, 6000), 6100);
    expect(whenToReport(changed, NORMAL.credit).at).toBe(10_000);
    expect(whenToLook(changed, NORMAL.credit)).toBe(6200);
  });

  test("looks once for each batch of changes", () => {
    const looked = afterLook(afterChange(spent, 6000));
    expect(whenToLook(looked, NORMAL.credit)).toBeUndefined();
    expect(whenToReport(looked, NORMAL.credit).at).toBe(10_000);
    expect(whenToLook(afterChange(looked, 7000), NORMAL.credit)).toBe(7200);
  });

  test("pays at most four reports in advance, and nothing else until they are paid back", () => {
    const inDebt = [6, 7, 8, 9].reduce(
      (state, second) => afterReport(state, { at: second * 1000, why: "Change" }, NORMAL),
      spent,
    );
    const changed = afterChange(inDebt, 9500);
    expect(whenToLook(changed, NORMAL.credit)).toBe(10_000);
    expect(whenToReport(changed, NORMAL.credit).at).toBe(50_000);
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
