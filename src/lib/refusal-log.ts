// Performs: lines of the log about refused messages, so many and no more: a flood of junk, each piece of it new, must
// not fill the disk.

import { take, type Allowance, type AllowancePolicy } from "./allowance.ts";
import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";

const LINES: AllowancePolicy = { most: 20, perSecond: 0.1 };

export class RefusalLog {
  readonly #clock: Clock;
  readonly #log: Logger;
  #left: Allowance | undefined;
  /** Since the last line. */
  #unlogged = 0;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** `unlogged` in a line = so many before it had none. */
  warn(message: string, facts: Readonly<Record<string, unknown>>): void {
    const left = take(this.#left, this.#clock.monotonic(), LINES);
    if (left === undefined) {
      this.#unlogged += 1;
      return;
    }
    this.#left = left;
    this.#log.warn(message, this.#unlogged === 0 ? facts : { ...facts, unlogged: this.#unlogged });
    this.#unlogged = 0;
  }
}
