// Decides when the sizes of logs are looked at again: a log that grows fast is seen before it is much too large.

import type { Monotonic } from "../../lib/clock.ts";

/** One look at a log. */
export interface LogLook {
  readonly at: Monotonic;
  /** Bytes. */
  readonly size: number;
  /** Another one = another file. */
  readonly identity: string;
}

/** Bytes that were written between two looks, as far as they show. */
export function growth(before: LogLook | undefined, now: LogLook): number {
  const isSame = before?.identity === now.identity;
  return isSame ? Math.max(0, now.size - before.size) : now.size;
}

/** Milliseconds until the log reaches `maxSize` if it grows on as between the two looks; Infinity = it does not grow. */
export function timeToFill(before: LogLook | undefined, now: LogLook, maxSize: number): number {
  if (before === undefined || before.identity !== now.identity || now.at <= before.at)
    return Number.POSITIVE_INFINITY;
  const bytesPerMs = (now.size - before.size) / (now.at - before.at);
  return bytesPerMs <= 0 ? Number.POSITIVE_INFINITY : Math.max(0, maxSize - now.size) / bytesPerMs;
}
