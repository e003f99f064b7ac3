import { expect, test } from "bun:test";

import { ReportLoop } from "../../../src/upstream/report/report-loop.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { dice } from "./upstream-world.ts";

test("reports the first change at once, a storm every ten seconds, and refreshes in silence", async () => {
  const clock = new VirtualClock({ monotonic: 0 });
  const reports: string[] = [];
  const loop = new ReportLoop({
    clock,
    random: dice(0.5),
    frequency: 900_000,
    report: (why) => void reports.push(`${why} ${clock.monotonic() / 1000}`),
  });
  const stop = new AbortController();
  const running = loop.run(stop.signal);
  await clock.advance(1000);
  loop.changed();
  await clock.settle();
  expect(reports).toEqual(["Change 1"]);
  for (let second = 0; second < 25; second += 1) {
    await clock.advance(1000);
    loop.changed();
  }
  await clock.advance(60_000);
  expect(reports).toEqual(["Change 1", "Change 12", "Change 22", "Change 32"]);
  await clock.advance(1_800_000);
  expect(reports.slice(4)).toEqual(["Refresh 932", "Refresh 1832"]);
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
    report: () => void reports.push(clock.monotonic()),
  });
  const running = loop.run(stop.signal);
  await clock.advance(2500);
  expect(reports).toEqual([250, 1250, 2250]);
  stop.abort();
  await running;
});
