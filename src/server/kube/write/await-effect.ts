// Performs: waits until the node has taken a change in, so that the next request already sees it.

import { deadline, type Clock } from "../../../lib/clock.ts";

export interface AwaitEffectOptions {
  readonly clock: Clock;
  /** Calls back whenever something that is shown may have changed. */
  readonly onChange: (run: () => void) => Disposable;
}

/** A file that was renamed into place is read within a moment; the change stands also if it takes longer. */
const LONGEST_MS = 3000;

/** Resolves to whether `isDone` has become true. */
export async function awaitEffect(
  isDone: () => boolean,
  { clock, onChange }: AwaitEffectOptions,
  signal: AbortSignal,
): Promise<boolean> {
  if (isDone()) return true;
  using limit = deadline(clock, LONGEST_MS, signal);
  const { promise, resolve } = Promise.withResolvers<void>();
  limit.signal.addEventListener("abort", () => resolve(), { once: true });
  using _follow = onChange(() => {
    if (isDone()) resolve();
  });
  if (!limit.signal.aborted) await promise;
  return isDone();
}
