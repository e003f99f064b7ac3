// Decides when the broker may have dropped messages: its queue for a client is bounded, what does not fit is lost without a
// word, and that may be the newest document. Only a SUBSCRIBE brings the retained message again.

import type { Monotonic } from "../../lib/clock.ts";

/** Messages of the broker, each of which came soon after the one before. */
export interface MessageBurst {
  readonly messages: number;
  readonly lastAt: Monotonic;
  /** When there were so many that the queue may have been full; absent = not so many. */
  readonly longSince?: Monotonic;
}

/** More than the retained messages that arrive at once after CONNACK, fewer than the queue of any common broker. */
const LONG_BURST = 64;
/** Without a message, a burst is over. */
const PAUSE_MS = 1_000;
/** Lets the broker deliver what it still has before it is asked again. */
const QUIET_MS = 5_000;
/** A burst that does not end. */
const LONGEST_WAIT_MS = 60_000;

/** The burst after one more message; `before` undefined = there was none. */
export function afterMessage(before: MessageBurst | undefined, now: Monotonic): MessageBurst {
  if (before === undefined || (before.longSince === undefined && now - before.lastAt > PAUSE_MS))
    return { messages: 1, lastAt: now };
  const messages = before.messages + 1;
  if (messages < LONG_BURST) return { messages, lastAt: now };
  return { messages, lastAt: now, longSince: before.longSince ?? now };
}

/** When to subscribe again; undefined = nothing can have been dropped. */
export function subscribeAgainAt({ lastAt, longSince }: MessageBurst): Monotonic | undefined {
  if (longSince === undefined) return undefined;
  return Math.min(lastAt + QUIET_MS, longSince + LONGEST_WAIT_MS);
}
