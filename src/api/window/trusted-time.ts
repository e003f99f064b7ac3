// Performs: the wall clock as far as it is certain: from the first moment of this process at which it is synchronised, and from
// then on by the time since boot, so that neither a lost synchronisation nor a jump of an unsynchronised clock changes it.

import type { Clock, ClockFloor, Monotonic } from "../../lib/clock.ts";

interface TrustedTimeOptions {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly clockSynchronised: () => boolean;
  /** The moment before which the clock is wrong, whatever it says. */
  readonly clockFloor: Pick<ClockFloor, "at">;
}

export class TrustedTime {
  readonly #options: TrustedTimeOptions;
  #seen: { readonly wall: number; readonly at: Monotonic } | undefined;

  constructor(options: TrustedTimeOptions) {
    this.#options = options;
  }

  /** Wall-clock milliseconds; undefined = not certain. */
  now(): number | undefined {
    const { clock, clockSynchronised, clockFloor } = this.#options;
    const [wall, at] = [clock.now(), clock.monotonic()];
    if (clockSynchronised() && wall >= clockFloor.at) {
      this.#seen = { wall, at };
      return wall;
    }
    if (this.#seen === undefined) return undefined;
    return this.#seen.wall + (at - this.#seen.at);
  }
}
