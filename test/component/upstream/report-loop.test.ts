import { describe, expect, test } from "bun:test";

import { ReportLoop } from "../../../src/upstream/report/report-loop.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { dice } from "./upstream-world.ts";

test("reports changes from the credit, a storm every ten seconds, and refreshes in silence", async () => {
  const clock = new VirtualClock({ monotonic: 0 });
  const reports: string[] = [];
  const loop = new ReportLoop({
    clock,
    random: dice(0.5),
    frequency: 900_000,
    credit: { reports: 2, refillMs: 10_000, advance: 2 },
    hasAnswer: () => false,
    report: (why) => reports.push(`${why} ${clock.monotonic() / 1000}`) > 0,
  });
  const stop = new AbortController();
  const running = loop.run(stop.signal);
  await clock.advance(1000);
  loop.changed();
  await clock.advance(200);
  expect(reports).toEqual(["Change 1.2"]);
  await clock.advance(800);
  for (let second = 0; second < 25; second += 1) {
    await clock.advance(1000);
    loop.changed();
  }
  await clock.advance(60_000);
  expect(reports).toEqual([
    "Change 1.2",
    "Change 3.2",
    "Change 11.2",
    "Change 21.2",
    "Change 31.2",
  ]);
  await clock.advance(1_800_000);
  expect(reports.slice(5)).toEqual(["Refresh 931.2", "Refresh 1831.2"]);
  stop.abort();
  await running;
  expect(clock.pending).toBe(0);
});

test("makes the first refresh somewhere in the period", async () => {
  const clock = new VirtualClock({ monotonic: 0 });
  const reports: number[] = [];
  const stop = new AbortController();
  const loop = new ReportLoop({
    clock,
    random: dice(0.25),
    frequency: 1000,
    credit: { reports: 2, refillMs: 10_000, advance: 2 },
    hasAnswer: () => false,
    report: () => reports.push(clock.monotonic()) > 0,
  });
  const running = loop.run(stop.signal);
  await clock.advance(2500);
  expect(reports).toEqual([250, 1250, 2250]);
  stop.abort();
  await running;
});

describe("a report without new content", () => {
  test("costs no credit and delays no refresh", async () => {
    const clock = new VirtualClock({ monotonic: 0 });
    const reports: string[] = [];
    const content = { isNew: false };
    const loop = new ReportLoop({
      clock,
      random: dice(0.5),
      frequency: 900_000,
      credit: { reports: 1, refillMs: 10_000, advance: 2 },
      hasAnswer: () => false,
      report: (why) => {
        reports.push(`${why} ${clock.monotonic() / 1000}`);
        return content.isNew;
      },
    });
    const stop = new AbortController();
    const running = loop.run(stop.signal);
    for (const isNew of [false, false, true]) {
      content.isNew = isNew;
      loop.changed();
      await clock.advance(1000);
    }
    content.isNew = false;
    await clock.advance(500_000);
    expect(reports).toEqual(["Change 0.2", "Change 1.2", "Change 2.2"]);
    loop.changed();
    // A whole period after the report at 2.2 s.
    await clock.advance(500_000);
    expect(reports.slice(3)).toEqual(["Change 503.2", "Refresh 902.2"]);
    stop.abort();
    await running;
  });

  test("loses no change that happens while it is made", async () => {
    const clock = new VirtualClock({ monotonic: 0 });
    const reports: number[] = [];
    const loop: ReportLoop = new ReportLoop({
      clock,
      random: dice(0.5),
      frequency: 900_000,
      credit: { reports: 6, refillMs: 10_000, advance: 2 },
      hasAnswer: () => false,
      report: () => {
        reports.push(clock.monotonic());
        if (reports.length < 3) loop.changed();
        return reports.length < 2;
      },
    });
    const stop = new AbortController();
    const running = loop.run(stop.signal);
    loop.changed();
    await clock.advance(5000);
    expect(reports).toEqual([200, 400, 600]);
    stop.abort();
    await running;
  });
});
