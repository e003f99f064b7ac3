// When a worker tries again: after each failure in a row later, 1 s to 30 s. Syncs that act again and again without an end
// count as a failure. kubelet: completeWork

import type { Edges } from "../edges.ts";
import { nextBackoff, type BackoffEntry, type BackoffPolicy } from "../lib/backoff.ts";
import type { Monotonic } from "../lib/clock.ts";
import { jitter } from "../lib/random.ts";

/**
 * The most syncs in a row that may each act, beside two for each init container. More means that the runtime's answers
 * have no effect.
 */
const SYNCS_AT_ONCE = 4;

const RETRY: BackoffPolicy = { initial: 1_000, max: 30_000, resetAfter: 120_000 };

export class SyncBackoff {
  readonly #edges: Pick<Edges, "clock" | "random">;
  #failures: BackoffEntry | undefined;
  /** In a row. */
  #syncsThatActed = 0;

  constructor(edges: Pick<Edges, "clock" | "random">) {
    this.#edges = edges;
  }

  /** One more failure in a row; returns when to try again. */
  failed(): Monotonic {
    const { clock, random } = this.#edges;
    const now = clock.monotonic();
    this.#failures = nextBackoff(this.#failures, now, RETRY);
    return now + jitter(random, this.#failures.delay, 0.2);
  }

  /** After a sync without an error: false = the syncs act again and again without coming to rest, which is a failure. */
  succeeded(acted: boolean, initContainers: number): boolean {
    this.#syncsThatActed = acted ? this.#syncsThatActed + 1 : 0;
    if (this.#syncsThatActed > SYNCS_AT_ONCE + 2 * initContainers) return false;
    this.#failures = undefined;
    return true;
  }
}
