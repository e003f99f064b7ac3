import { expect, test } from "bun:test";
import { Quiet } from "../../../src/agent/quiet.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

function watched(): { clock: VirtualClock; quiet: Quiet; runs: number[] } {
  const clock = new VirtualClock();
  const runs: number[] = [];
  const quiet = new Quiet({ clock, after: 15_000, run: () => runs.push(clock.monotonic()) });
  return { clock, quiet, runs };
}

test("runs once after a burst, when it is over", async () => {
  const { clock, quiet, runs } = watched();
  for (let touch = 0; touch < 5; touch += 1) {
    quiet.touch();
    await clock.advance(10_000);
  }
  expect(runs).toEqual([]);
  await clock.advance(5_000);
  expect(runs).toHaveLength(1);
});

test("does nothing while idle, and nothing when it is disposed", async () => {
  const { clock, quiet, runs } = watched();
  await clock.advance(600_000);
  quiet.touch();
  quiet[Symbol.dispose]();
  await clock.advance(600_000);
  expect(runs).toEqual([]);
});
