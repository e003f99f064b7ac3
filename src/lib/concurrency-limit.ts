// Performs: at most `limit` calls at once, first come first served.

export class Limiter {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `work` when a place is free; returns or throws what `work` does. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#limit) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#taken += 1;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The place passes on without becoming free, so no other call can take it in between.
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }
}
