// Performs: at most `limit` calls at once: the most urgent first, and first come first served among those of one urgency.

interface Waiting {
  readonly urgency: number;
  readonly begin: () => void;
}

export class Limiter {
  readonly #limit: number;
  /** The next one first. */
  readonly #waiting: Waiting[] = [];
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `work` when a place is free; returns or throws what `work` does. A higher `urgency` goes before all lower ones. */
  async run<T>(work: () => Promise<T>, urgency = 0): Promise<T> {
    if (this.#taken >= this.#limit) {
      await new Promise<void>((begin) => this.#enqueue({ urgency, begin }));
    } else {
      this.#taken += 1;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The place passes on without becoming free, so no other call can take it in between.
      if (next === undefined) this.#taken -= 1;
      else next.begin();
    }
  }

  #enqueue(one: Waiting): void {
    const later = this.#waiting.findIndex(({ urgency }) => urgency < one.urgency);
    this.#waiting.splice(later < 0 ? this.#waiting.length : later, 0, one);
  }
}
