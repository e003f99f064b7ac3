// Performs: waits until nothing has happened for a while: then is the time to give memory back.

import type { Clock } from "../lib/clock.ts";
import type { Edges } from "../edges.ts";

export interface QuietOptions {
  readonly clock: Clock;
  /** Milliseconds without a `touch`. */
  readonly after: number;
  readonly run: () => void;
}

/** Runs once after each burst of touches, never while idle. */
export class Quiet implements Disposable {
  readonly #options: QuietOptions;
  #timer: Disposable | undefined;

  constructor(options: QuietOptions) {
    this.#options = options;
  }

  touch(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#options.clock.after(this.#options.after, () => {
      this.#timer = undefined;
      this.#options.run();
    });
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }
}

/** Gives back what nobody needs for now. */
export function trimmer({ store, trimMemory }: Pick<Edges, "store" | "trimMemory">): () => void {
  return () => {
    store.database.releaseMemory();
    trimMemory();
  };
}
