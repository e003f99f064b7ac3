// Performs: limits how many commands are accepted and how many refusals are answered; untrusted ones have limits of their
// own.

import type { Clock } from "../lib/clock.ts";
import { takeToken, type TokenBucket, type TokenBucketPolicy } from "../lib/token-bucket.ts";

/** Unauthenticated floods must cost little disk and bandwidth. */
const POLICIES = {
  taken: { burst: 60, perSecond: 2 },
  refused: { burst: 20, perSecond: 0.5 },
  // Unsigned commands on a node that requires signatures must not use up the limits of signed ones.
  takenUntrusted: { burst: 20, perSecond: 0.1 },
  refusedUntrusted: { burst: 20, perSecond: 0.1 },
} as const satisfies Readonly<Record<string, TokenBucketPolicy>>;
type Bucket = keyof typeof POLICIES;

export class CommandLimits {
  readonly #clock: Clock;
  readonly #left = new Map<Bucket, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether one more command may be carried out; counts it. */
  takes(untrusted: boolean): boolean {
    return this.#take(untrusted ? "takenUntrusted" : "taken");
  }

  /** Whether one more refusal may be answered; counts it. */
  answers(untrusted: boolean): boolean {
    return this.#take(untrusted ? "refusedUntrusted" : "refused");
  }

  #take(bucket: Bucket): boolean {
    const left = takeToken(this.#left.get(bucket), this.#clock.monotonic(), POLICIES[bucket]);
    if (left === undefined) return false;
    this.#left.set(bucket, left);
    return true;
  }
}

/** Most held ids of one session. Further commands are refused, because a dropped id would permit a replay. */
export const MAX_SIGNED_CHANGES = 1_000;
