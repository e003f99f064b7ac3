import { describe, expect, test } from "bun:test";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { longTimer } from "../../../src/lib/system-clock.ts";

const LONGEST_MS = 2 ** 31 - 1;
const DAY_MS = 86_400_000;

function timers(): {
  readonly clock: VirtualClock;
  readonly asked: number[];
  readonly set: (ms: number, run: () => void) => Disposable;
} {
  const clock = new VirtualClock({ monotonic: 0 });
  const asked: number[] = [];
  const set = (ms: number, run: () => void): Disposable => {
    asked.push(ms);
    return clock.after(ms, run);
  };
  return { clock, asked, set };
}

describe("longTimer", () => {
  test("fires after a hundred days, and never asks for more than a timer can", async () => {
    const { clock, asked, set } = timers();
    let firedAt = 0;
    longTimer(set, 100 * DAY_MS, () => (firedAt = clock.monotonic()));
    await clock.advance(100 * DAY_MS - 1);
    expect(firedAt).toBe(0);
    await clock.advance(1);
    expect(firedAt).toBe(100 * DAY_MS);
    expect(asked.every((ms) => ms <= LONGEST_MS)).toBe(true);
  });

  test("is one plain timer when it is short", () => {
    const { asked, set } = timers();
    longTimer(set, 5, () => undefined);
    longTimer(set, LONGEST_MS, () => undefined);
    expect(asked).toEqual([5, LONGEST_MS]);
  });

  test("disposed on its way, it never fires", async () => {
    const { clock, set } = timers();
    let fired = false;
    const timer = longTimer(set, 60 * DAY_MS, () => (fired = true));
    await clock.advance(30 * DAY_MS);
    timer[Symbol.dispose]();
    await clock.advance(60 * DAY_MS);
    expect([fired, clock.pending]).toEqual([false, 0]);
  });
});
