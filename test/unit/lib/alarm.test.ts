import { expect, test } from "bun:test";
import { Alarm } from "../../../src/lib/alarm.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

function watched() {
  const clock = new VirtualClock({ monotonic: 0 });
  const runs: number[] = [];
  return { clock, runs, alarm: new Alarm(clock, () => runs.push(clock.monotonic())) };
}

test("runs once after a burst, when it is over", async () => {
  const { clock, alarm, runs } = watched();
  for (let touch = 0; touch < 5; touch += 1) {
    alarm.after(15_000);
    await clock.advance(10_000);
  }
  expect(runs).toEqual([]);
  await clock.advance(5_000);
  expect(runs).toHaveLength(1);
  await clock.advance(600_000);
  expect(runs).toHaveLength(1);
});

test("does nothing while it is not set, and nothing when it is disposed", async () => {
  const { clock, alarm, runs } = watched();
  await clock.advance(600_000);
  alarm.after(15_000);
  alarm[Symbol.dispose]();
  await clock.advance(600_000);
  alarm.after(15_000);
  alarm.set(undefined);
  await clock.advance(600_000);
  expect(runs).toEqual([]);
  expect(clock.pending).toBe(0);
});

test("is moved by the newest setting, or only to an earlier moment", async () => {
  const { clock, alarm, runs } = watched();
  alarm.set(1_000);
  alarm.by(2_000);
  alarm.by(undefined);
  await clock.advance(1_000);
  alarm.set(3_000);
  alarm.by(2_000);
  await clock.advance(5_000);
  alarm.set(7_000);
  alarm.set(8_000);
  await clock.advance(5_000);
  expect(runs).toEqual([1_000, 2_000, 8_000]);
});

test("runs at once for a moment that has passed, and may be set again by what it runs", async () => {
  const clock = new VirtualClock({ monotonic: 5_000 });
  const runs: number[] = [];
  const alarm = new Alarm(clock, () => {
    runs.push(clock.monotonic());
    if (runs.length < 3) alarm.by(clock.monotonic() + 10);
  });
  alarm.set(1_000);
  expect(runs).toEqual([]);
  await clock.advance(100);
  expect(runs).toEqual([5_000, 5_010, 5_020]);
});
