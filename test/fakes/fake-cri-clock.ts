// A clock that a test turns by hand; what is due runs in order of its time.

import type { Clock } from "../../src/lib/clock.ts";

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  #monotonic = 1000;
  /** The wall clock stands this far from 1970 at monotonic 0; a test may step it. */
  wallOffset = 1_700_000_000_000;
  #timers: Timer[] = [];

  now(): number {
    return this.wallOffset + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, run: () => void): Disposable {
    const timer = { at: this.#monotonic + ms, run };
    this.#timers.push(timer);
    return {
      [Symbol.dispose]: (): void => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const timer = this.after(ms, resolve);
      const abort = (): void => {
        timer[Symbol.dispose]();
        resolve();
      };
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Timers that have not run yet. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Milliseconds until the next timer; Infinity = there is none. */
  get nextIn(): number {
    return Math.min(...this.#timers.map(({ at }) => at)) - this.#monotonic;
  }

  /** Runs everything due within `ms`, each at its own time. */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#monotonic = Math.max(this.#monotonic, next.at);
      next.run();
    }
    this.#monotonic = end;
  }
}

/** Turns the event loop until `done`; for what real sockets have to carry first. */
export async function until(done: () => boolean): Promise<void> {
  const limit = performance.now() + 4000;
  while (!done()) {
    if (performance.now() > limit) throw new Error("it did not happen within 4 s");
    await new Promise((resolve) => setImmediate(resolve));
  }
}
