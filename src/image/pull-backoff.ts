// Remembers the last failed pull of each image, and when the next one may begin. kubelet: image back-off

import type { Edges } from "../edges.ts";
import { nextBackoff, type BackoffEntry, type BackoffPolicy } from "../lib/backoff.ts";
import type { Monotonic } from "../lib/clock.ts";
import { jitter } from "../lib/random.ts";
import { pullFailure, type PullFailure } from "./pull-failure.ts";

const BACKOFF: BackoffPolicy = { initial: 10_000, max: 300_000, resetAfter: 600_000 };
const BACKOFF_SPREAD = 0.1;

export interface FailedPull {
  readonly backoff: BackoffEntry;
  readonly retryAt: Monotonic;
  readonly failure: PullFailure;
  readonly thrown: unknown;
  /** Bytes of the image that were on the node; 0 = unknown. */
  readonly arrived: number;
}

export class PullBackoff {
  readonly #options: Pick<Edges, "clock" | "random">;
  readonly #failed = new Map<string, FailedPull>();

  constructor(options: Pick<Edges, "clock" | "random">) {
    this.#options = options;
  }

  of(key: string): FailedPull | undefined {
    return this.#failed.get(key);
  }

  forget(key: string): void {
    this.#failed.delete(key);
  }

  remember(key: string, thrown: unknown, arrived: number): void {
    const failure = pullFailure(thrown);
    // A failure of the runtime proves nothing about the image.
    if (failure === "Runtime") return;
    const now = this.#options.clock.monotonic();
    for (const [other, { backoff }] of this.#failed)
      if (now - backoff.at > BACKOFF.resetAfter) this.#failed.delete(other);
    const before = this.#failed.get(key);
    // A line that breaks again and again brings the image piece by piece.
    const hasMoved = before !== undefined && arrived > before.arrived;
    const backoff = nextBackoff(hasMoved ? undefined : before?.backoff, now, BACKOFF);
    const retryAt = now + jitter(this.#options.random, backoff.delay, BACKOFF_SPREAD);
    this.#failed.set(key, { backoff, retryAt, failure, thrown, arrived });
  }
}
