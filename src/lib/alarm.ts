// Performs: runs something at one moment, which can be moved and cancelled.

import type { Clock, Monotonic } from "./clock.ts";

const NEVER = Number.POSITIVE_INFINITY;

export class Alarm implements Disposable {
  readonly #clock: Clock;
  readonly #run: () => void;
  #timer: Disposable | undefined;
  #at: Monotonic = NEVER;

  constructor(clock: Clock, run: () => void) {
    this.#clock = clock;
    this.#run = run;
  }

  /** Runs once at `at`, whatever was set before; undefined and Infinity = never. */
  set(at: Monotonic = NEVER): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#at = at;
    if (at === NEVER) return;
    const wait = Math.max(0, Math.ceil(at - this.#clock.monotonic()));
    this.#timer = this.#clock.after(wait, () => {
      this.#at = NEVER;
      this.#run();
    });
  }

  /** Runs at the latest at `at`: an earlier moment stays. */
  by(at: Monotonic = NEVER): void {
    if (at < this.#at) this.set(at);
  }

  /** Runs `ms` from now, whatever was set before. */
  after(ms: number): void {
    this.set(this.#clock.monotonic() + ms);
  }

  [Symbol.dispose](): void {
    this.set(NEVER);
  }
}
