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

/** The bucket after taking one token; undefined = it is empty. `before` undefined = a full bucket. */
export function takeToken(
  before: TokenBucket | undefined,
  now: Monotonic,
  { burst, perSecond }: TokenBucketPolicy,
): TokenBucket | undefined {
  const added = before === undefined ? 0 : (Math.max(0, now - before.at) / 1_000) * perSecond;
  const tokens = Math.min(burst, (before?.tokens ?? burst) + added);
  return tokens < 1 ? undefined : { tokens: tokens - 1, at: now };
}
