// A start guard in the hands of the test: it suspects whom the test names, and remembers what was in hand.

import type { Hand } from "../../src/store/start-guard/hand.ts";
import type { Held, WorkGuard } from "../../src/store/start-guard/start-guard.ts";

interface Waiter {
  readonly hand: Hand;
  readonly resolve: (isFree: boolean) => void;
}

export class FakeGuard implements WorkGuard {
  /** `Pod default/web`: of what waits. */
  readonly suspects = new Set<string>();
  /** `hold …`, `settle …` and `release …`, in order. */
  readonly history: string[] = [];
  #waiters: readonly Waiter[] = [];

  /** What waits now. */
  get waiting(): readonly string[] {
    return this.#waiters.map(({ hand }) => wordsOf(hand));
  }

  /** It may begin now. */
  allow(work: string): void {
    this.suspects.delete(work);
    for (const { hand, resolve } of this.#waiters) if (wordsOf(hand) === work) resolve(true);
    this.#waiters = this.#waiters.filter(({ hand }) => wordsOf(hand) !== work);
  }

  waits(hand: Hand): string | undefined {
    return this.suspects.has(wordsOf(hand)) ? `${wordsOf(hand)} waits` : undefined;
  }

  free(hand: Hand, signal?: AbortSignal): Promise<boolean> {
    if (this.waits(hand) === undefined) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter = { hand, resolve };
      this.#waiters = [...this.#waiters, waiter];
      signal?.addEventListener("abort", () => {
        this.#waiters = this.#waiters.filter((one) => one !== waiter);
        resolve(false);
      });
    });
  }

  hold(hand: Hand): Held {
    const work = wordsOf(hand);
    this.history.push(`hold ${work}`);
    let isHeld = true;
    const release = (how: string): void => {
      if (isHeld) this.history.push(`${how} ${work}`);
      isHeld = false;
    };
    return { settle: () => release("settle"), [Symbol.dispose]: () => release("release") };
  }
}

function wordsOf({ kind, name }: Hand): string {
  return `${kind} ${name}`;
}
