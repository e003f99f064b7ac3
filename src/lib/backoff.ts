// Exponential back-off as data: monotone, capped, reset after a quiet time. kubelet: flowcontrol.Backoff

import type { Monotonic } from "./clock.ts";

export interface BackoffPolicy {
  /** First delay in ms. */
  readonly initial: number;
  /** Largest delay in ms. */
  readonly max: number;
  /** A quiet time of this many ms starts the sequence anew. */
  readonly resetAfter: number;
}

/** Plain data of one key; absent = never failed. */
export interface BackoffEntry {
  readonly delay: number;
  readonly at: Monotonic;
}

/** The entry after one more failure at `now`. */
export function nextBackoff(
  entry: BackoffEntry | undefined,
  now: Monotonic,
  policy: BackoffPolicy,
): BackoffEntry {
  if (entry === undefined || now - entry.at > policy.resetAfter)
    return { delay: policy.initial, at: now };
  return { delay: Math.min(entry.delay * 2, policy.max), at: now };
}

/** When the next try is allowed: `entry.at + entry.delay`. */
export function retryAt(entry: BackoffEntry | undefined): Monotonic {
  return entry === undefined ? 0 : entry.at + entry.delay;
}
