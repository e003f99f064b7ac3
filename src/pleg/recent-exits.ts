// Remembers which containers were announced dead, so that a status that lags its event is not believed.

import type { ObservedPod } from "../api/observed-pod.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";

const KEEP_MS = 30_000;
const KEEP_MANY = 2_000;

export class RecentExits {
  readonly #clock: Clock;
  /** Insertion order is time order. */
  readonly #seen = new Map<string, Monotonic>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(id: string): void {
    const now = this.#clock.monotonic();
    this.#seen.delete(id);
    this.#seen.set(id, now);
    for (const [old, at] of this.#seen) {
      if (now - at <= KEEP_MS && this.#seen.size <= KEEP_MANY) break;
      this.#seen.delete(old);
    }
  }

  /** True when the look still shows something as running that has been announced dead. */
  contradicts(pod: ObservedPod | undefined): boolean {
    if (pod === undefined) return false;
    return (
      pod.containers.some(({ id, state }) => state === "Running" && this.#has(id)) ||
      pod.sandboxes.some(({ id, state }) => state === "Ready" && this.#has(id))
    );
  }

  #has(id: string): boolean {
    const at = this.#seen.get(id);
    return at !== undefined && this.#clock.monotonic() - at <= KEEP_MS;
  }
}
