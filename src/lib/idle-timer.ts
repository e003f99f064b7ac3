// Performs: runs something once activity has ceased for a while.

import type { Clock } from "./clock.ts";

interface IdleTimerOptions {
  readonly clock: Clock;
  /** Milliseconds without a `touch`. */
  readonly after: number;
  readonly run: () => void;
}

/** Runs once after each burst of touches, never while idle. */
export class IdleTimer implements Disposable {
  readonly #options: IdleTimerOptions;
  #timer: Disposable | undefined;

  constructor(options: IdleTimerOptions) {
    this.#options = options;
  }

  touch(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#options.clock.after(this.#options.after, () => {
      this.#timer = undefined;
      this.#options.run();
    });
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }
}
