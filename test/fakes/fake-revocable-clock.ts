// One process's view of a clock that outlives it: revoked, no timer of it fires any more.

import type { Clock, Monotonic } from "../../src/lib/clock.ts";

export class RevocableClock implements Clock {
  readonly #clock: Clock;
  /** Monotonic time of the outer clock at which this machine booted. */
  readonly #bootedAt: Monotonic;
  #revoked = false;

  constructor(clock: Clock, bootedAt: Monotonic = 0) {
    this.#clock = clock;
    this.#bootedAt = bootedAt;
  }

  revoke(): void {
    this.#revoked = true;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): Monotonic {
    return this.#clock.monotonic() - this.#bootedAt;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise<void>((resolve) => {
      if (this.#revoked) return;
      const timer = this.after(ms, () => done());
      const done = (): void => {
        timer[Symbol.dispose]();
        signal?.removeEventListener("abort", done);
        if (!this.#revoked) resolve();
      };
      if (signal?.aborted === true) done();
      else signal?.addEventListener("abort", done, { once: true });
    });
  }

  after(ms: number, run: () => void): Disposable {
    return this.#clock.after(ms, () => {
      if (!this.#revoked) run();
    });
  }
}
