// Performs: at most `limit` calls at once, first come first served among those of one urgency.

export class Limiter {
  readonly #limit: number;
  readonly #urgent: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs `work` when a place is free; returns or throws what `work` does. What is urgent goes before all that is not. */
  async run<T>(work: () => Promise<T>, isUrgent = false): Promise<T> {
    if (this.#taken >= this.#limit) {
      const queue = isUrgent ? this.#urgent : this.#waiting;
      await new Promise<void>((resolve) => queue.push(resolve));
    } else {
      this.#taken += 1;
    }
    try {
      return await work();
    } finally {
      const next = this.#urgent.shift() ?? this.#waiting.shift();
      // The place passes on without becoming free, so no other call can take it in between.
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }
}
