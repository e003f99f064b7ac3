// Repeatable randomness: a failed run is run again with AGENT_TEST_SEED.

export class Dice {
  readonly seed: number;
  #state: number;

  constructor(
    seed = Number(process.env["AGENT_TEST_SEED"] ?? crypto.getRandomValues(new Uint32Array(1))[0]),
  ) {
    this.seed = seed >>> 0;
    this.#state = this.seed;
  }

  /** From 0 (included) to 1 (excluded); mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[Math.floor(this.next() * items.length)] ?? items[0];
  }
}
