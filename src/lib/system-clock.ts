// Performs: the real clock and randomness: the only file that touches timers, Date.now and Math.random.

import type { Clock, Monotonic } from "./clock.ts";
import type { Random } from "./random.ts";

/** The platform fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** `monotonic` = `sinceBoot` of `host/libc`; the default is process time, enough for measuring durations. */
export function systemClock(monotonic: () => Monotonic = () => performance.now()): Clock {
  return {
    now: () => Date.now(),
    monotonic,
    sleep: (ms, signal) =>
      new Promise<void>((resolve) => {
        if (signal?.aborted === true) return resolve();
        const done = (): void => {
          timer[Symbol.dispose]();
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = longTimer(platformTimer, ms, done);
        signal?.addEventListener("abort", done, { once: true });
      }),
    after: (ms, run) => longTimer(platformTimer, ms, run),
  };
}

function platformTimer(ms: number, run: () => void): Disposable {
  const timer = setTimeout(run, ms);
  return { [Symbol.dispose]: (): void => clearTimeout(timer) };
}

export const systemRandom: Random = {
  next: () => Math.random(),
  hex: (length) => crypto.getRandomValues(new Uint8Array(length)).toHex(),
};

/** Calls `run` once after `ms`, in as many timers of `set` as that takes, unless disposed before. */
export function longTimer(
  set: (ms: number, run: () => void) => Disposable,
  ms: number,
  run: () => void,
): Disposable {
  const arm = (left: number): Disposable => {
    if (left <= MAX_TIMER_MS) return set(left, run);
    return set(MAX_TIMER_MS, () => {
      timer = arm(left - MAX_TIMER_MS);
    });
  };
  let timer = arm(ms);
  return { [Symbol.dispose]: (): void => timer[Symbol.dispose]() };
}
