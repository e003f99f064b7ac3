// Performs: hands out the places in which exec probes run: the runtime's answers, of up to 1 MiB each, are in memory
// at the same time for no more probes than these.

import type { PodUID } from "../api/v1/pod.ts";

interface Waiting {
  readonly pod: PodUID;
  readonly begin: (place: Disposable) => void;
}

export interface ExecPlacesOptions {
  readonly places: number;
  /** Commands that hang hold their places until their timeout: one pod must not have all. */
  readonly perPod: number;
}

/** Fair: of the pods that wait, the one with the fewest places comes first, then the one that waits longest. */
export class ExecPlaces {
  readonly #options: ExecPlacesOptions;
  readonly #held = new Map<PodUID, number>();
  readonly #waiting = new Set<Waiting>();
  #taken = 0;

  constructor(options: ExecPlacesOptions) {
    this.#options = options;
  }

  /** Resolves with a place, to be disposed after use, or with undefined when `signal` aborts. */
  async take(pod: PodUID, signal: AbortSignal): Promise<Disposable | undefined> {
    if (signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<Disposable | undefined>();
    const waiting: Waiting = { pod, begin: resolve };
    const leave = (): void => {
      if (this.#waiting.delete(waiting)) resolve(undefined);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#waiting.add(waiting);
    this.#fill();
    const place = await promise;
    signal.removeEventListener("abort", leave);
    return place;
  }

  #fill(): void {
    while (this.#taken < this.#options.places) {
      const next = this.#next();
      if (next === undefined) return;
      this.#waiting.delete(next);
      next.begin(this.#occupy(next.pod));
    }
  }

  #next(): Waiting | undefined {
    let next: Waiting | undefined;
    let fewest = this.#options.perPod;
    for (const waiting of this.#waiting) {
      const held = this.#held.get(waiting.pod) ?? 0;
      if (held >= fewest) continue;
      next = waiting;
      fewest = held;
    }
    return next;
  }

  #occupy(pod: PodUID): Disposable {
    this.#count(pod, 1);
    let isHeld = true;
    return {
      [Symbol.dispose]: (): void => {
        if (!isHeld) return;
        isHeld = false;
        this.#count(pod, -1);
        this.#fill();
      },
    };
  }

  #count(pod: PodUID, by: 1 | -1): void {
    this.#taken += by;
    const held = (this.#held.get(pod) ?? 0) + by;
    if (held === 0) this.#held.delete(pod);
    else this.#held.set(pod, held);
  }
}
