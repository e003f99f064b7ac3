// Performs: how many commands are taken, and how many refusals are answered: those nobody vouches for draw on a stock
// of their own.

import type { Clock } from "../lib/clock.ts";
import { takeToken, type TokenBucket, type TokenBucketPolicy } from "../lib/token-bucket.ts";

/** Of a stranger's flood neither the disk nor the link may hear much. */
const POLICIES = {
  taken: { burst: 60, perSecond: 2 },
  refused: { burst: 20, perSecond: 0.5 },
  // Unsigned where signatures count: they must not use up what is for the signed ones.
  takenOfStrangers: { burst: 20, perSecond: 0.1 },
  refusedOfStrangers: { burst: 20, perSecond: 0.1 },
} as const satisfies Readonly<Record<string, TokenBucketPolicy>>;
type Stock = keyof typeof POLICIES;

export class CommandLimits {
  readonly #clock: Clock;
  readonly #left = new Map<Stock, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One more may be obeyed, and is counted. */
  takes(stranger: boolean): boolean {
    return this.#take(stranger ? "takenOfStrangers" : "taken");
  }

  /** One more refusal may be answered, and is counted. */
  answers(stranger: boolean): boolean {
    return this.#take(stranger ? "refusedOfStrangers" : "refused");
  }

  #take(stock: Stock): boolean {
    const left = takeToken(this.#left.get(stock), this.#clock.monotonic(), POLICIES[stock]);
    if (left === undefined) return false;
    this.#left.set(stock, left);
    return true;
  }
}
