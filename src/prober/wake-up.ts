// Performs: one timer for all probes, set to the earliest of them; what is due within 50 ms is done in one go.

import type { Clock, Monotonic } from "../lib/clock.ts";

/**
 * Between two wake-ups. Waking is what costs most: 200 probes a second done one by one take twice the time
 * that they take in groups. No probe comes later by more than this.
 */
const SPACING_MS = 50;
export class WakeUp implements Disposable {
  readonly #clock: Clock;
  readonly #run: () => void;
  #timer: Disposable | undefined;
  #at: Monotonic = Number.POSITIVE_INFINITY;
  #ranAt: Monotonic = Number.NEGATIVE_INFINITY;

  /** `run` asks for the next wake-up itself. */
  constructor(clock: Clock, run: () => void) {
    this.#clock = clock;
    this.#run = run;
  }

  /** Wakes up by `at`, or earlier if that was asked before. Infinity = no wish. */
  by(at: Monotonic): void {
    if (at === Number.POSITIVE_INFINITY) return;
    const now = this.#clock.monotonic();
    const spaced = Math.max(at, now, this.#ranAt + SPACING_MS);
    if (spaced >= this.#at) return;
    this.#timer?.[Symbol.dispose]();
    this.#at = spaced;
    this.#timer = this.#clock.after(Math.ceil(spaced - now), () => this.#fire());
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#at = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    this.#timer = undefined;
    this.#at = Number.POSITIVE_INFINITY;
    this.#ranAt = this.#clock.monotonic();
    this.#run();
  }
}
