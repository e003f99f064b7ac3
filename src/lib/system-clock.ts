// Performs: the real clock and the real dice: the only file that touches timers, Date.now and Math.random.

import type { Clock, Monotonic } from "./clock.ts";
import { longTimer } from "./long-timer.ts";
import type { Random } from "./random.ts";

/** `monotonic` = `sinceBoot` of `host/boot`; without it, process time: enough for who only measures. */
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
