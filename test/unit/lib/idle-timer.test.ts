import { expect, test } from "bun:test";
import { IdleTimer } from "../../../src/lib/idle-timer.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

function watched(): { clock: VirtualClock; timer: IdleTimer; runs: number[] } {
  const clock = new VirtualClock();
  const runs: number[] = [];
  const timer = new IdleTimer({ clock, after: 15_000, run: () => runs.push(clock.monotonic()) });
  return { clock, timer, runs };
}

test("runs once after a burst, when it is over", async () => {
  const { clock, timer, runs } = watched();
  for (let touch = 0; touch < 5; touch += 1) {
    timer.touch();
    await clock.advance(10_000);
  }
  expect(runs).toEqual([]);
  await clock.advance(5_000);
  expect(runs).toHaveLength(1);
});

test("does nothing while idle, and nothing when it is disposed", async () => {
  const { clock, timer, runs } = watched();
  await clock.advance(600_000);
  timer.touch();
  timer[Symbol.dispose]();
  await clock.advance(600_000);
  expect(runs).toEqual([]);
});
