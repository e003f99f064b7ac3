// Dice that fall the same way for the same seed (mulberry32), so that a run can be replayed.

import type { Random } from "../../src/lib/random.ts";

export class Mulberry32 implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  hex(length: number): string {
    return Array.from({ length }, () => this.below(256).toString(16).padStart(2, "0")).join("");
  }

  /** A whole number in [0, limit). */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.below(list.length)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  /** A pick in which `[thing, weight]` comes up in proportion to its weight. */
  weighted<T>(list: readonly (readonly [T, number])[]): T {
    const all = list.reduce((sum, [, weight]) => sum + weight, 0);
    let left = this.next() * all;
    for (const [thing, weight] of list) {
      left -= weight;
      if (left < 0) return thing;
    }
    return this.pick(list)[0];
  }
}
