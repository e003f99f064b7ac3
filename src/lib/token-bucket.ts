// Token bucket: a burst at once, then a steady rate. kubelet: flowcontrol.NewTokenBucketRateLimiter

import type { Monotonic } from "./clock.ts";

export interface TokenBucketPolicy {
  readonly burst: number;
  /** Tokens added per second, up to `burst`. */
  readonly perSecond: number;
}

export interface TokenBucket {
  readonly tokens: number;
  readonly at: Monotonic;
}

/** What one taker differs in. */
export interface TokenTaker {
  /** Tokens that it takes; default 1. It may have them on credit if one is there. */
  readonly cost?: number;
  /** Tokens that it leaves to others; default 0. */
  readonly spare?: number;
}

/** The bucket after taking from it; undefined = it is empty. `before` undefined = a full bucket. */
export function takeToken(
  before: TokenBucket | undefined,
  now: Monotonic,
  { burst, perSecond, cost = 1, spare = 0 }: TokenBucketPolicy & TokenTaker,
): TokenBucket | undefined {
  const added = before === undefined ? 0 : (Math.max(0, now - before.at) / 1_000) * perSecond;
  const tokens = Math.min(burst, (before?.tokens ?? burst) + added);
  return tokens < 1 + spare ? undefined : { tokens: tokens - cost, at: now };
}
