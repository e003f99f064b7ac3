// Limits TLS handshakes: each costs the processor far more than a connection that is closed before it, and anybody may begin
// one. Those of one address do not keep out the others.

import type { Monotonic } from "../../lib/clock.ts";
import { takeToken, type TokenBucket, type TokenBucketPolicy } from "../../lib/token-bucket.ts";

export interface HandshakeLimits {
  readonly ofAddress: TokenBucketPolicy;
  readonly all: TokenBucketPolicy;
}

/** At once as many as there may be connections (TLS_LIMITS): after the network was away, all clients come back together. */
export const HANDSHAKES: HandshakeLimits = {
  ofAddress: { burst: 384, perSecond: 20 },
  all: { burst: 768, perSecond: 50 },
};
/** Further addresses are remembered in place of those that came first. */
const MAX_ADDRESSES = 256;

export class HandshakeRate {
  readonly #limits: HandshakeLimits;
  /** The one that has come last is the last. */
  readonly #addresses = new Map<string, TokenBucket>();
  #all: TokenBucket | undefined;

  constructor(limits: HandshakeLimits = HANDSHAKES) {
    this.#limits = limits;
  }

  /** Whether a connection of this address may begin its handshake now. */
  take(address: string, now: Monotonic): boolean {
    const { ofAddress, all } = this.#limits;
    const own = takeToken(this.#addresses.get(address), now, ofAddress);
    // What the address may not take does not count for the others.
    if (own === undefined) return false;
    this.#addresses.delete(address);
    this.#addresses.set(address, own);
    const [first] = this.#addresses.keys();
    if (this.#addresses.size > MAX_ADDRESSES && first !== undefined) this.#addresses.delete(first);
    const together = takeToken(this.#all, now, all);
    this.#all = together ?? this.#all;
    return together !== undefined;
  }
}
