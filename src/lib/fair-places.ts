// Performs: hands out places for work whose answers are large: so many at the same time, and fair among their owners.

interface Waiting {
  readonly owner: string;
  readonly begin: (place: Disposable) => void;
}

export interface FairPlacesOptions {
  readonly places: number;
  /** Work that hangs holds its places until it is given up: one owner must not have all. */
  readonly perOwner: number;
}

/** Of the owners that wait, the one with the fewest places comes first, then the one that waits longest. */
export class FairPlaces {
  readonly #options: FairPlacesOptions;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #taken = 0;

  constructor(options: FairPlacesOptions) {
    this.#options = options;
  }

  /** Resolves with a place, to be disposed after use, or with undefined when `signal` aborts. */
  async take(owner: string, signal: AbortSignal): Promise<Disposable | undefined> {
    if (signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<Disposable | undefined>();
    const waiting: Waiting = { owner, begin: resolve };
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
      next.begin(this.#occupy(next.owner));
    }
  }

  #next(): Waiting | undefined {
    let next: Waiting | undefined;
    let fewest = this.#options.perOwner;
    for (const waiting of this.#waiting) {
      const held = this.#held.get(waiting.owner) ?? 0;
      if (held >= fewest) continue;
      next = waiting;
      fewest = held;
    }
    return next;
  }

  #occupy(owner: string): Disposable {
    this.#count(owner, 1);
    let isHeld = true;
    return {
      [Symbol.dispose]: (): void => {
        if (!isHeld) return;
        isHeld = false;
        this.#count(owner, -1);
        this.#fill();
      },
    };
  }

  #count(owner: string, by: 1 | -1): void {
    this.#taken += by;
    const held = (this.#held.get(owner) ?? 0) + by;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }
}
