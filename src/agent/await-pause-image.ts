// Performs: the image of sandboxes, before the first pod: no sandbox can be made without it, and a registry that is
// asked for it may never answer.

import type { Edges } from "../edges.ts";

/** Pods that need no new sandbox wait no longer for it. */
const PATIENCE_MS = 10_000;

export interface AwaitPauseImageOptions {
  readonly signal: AbortSignal;
  /** Whatever goes on after that. */
  readonly untilStopped: (loop: Promise<void>) => void;
}

/** Resolves when it is here, or when it has taken long enough. */
export async function awaitPauseImage(
  { clock, bringPauseImage }: Pick<Edges, "clock" | "bringPauseImage">,
  { signal, untilStopped }: AwaitPauseImageOptions,
): Promise<void> {
  const brought = bringPauseImage(signal);
  untilStopped(brought);
  await Promise.race([brought, clock.sleep(PATIENCE_MS, signal)]);
}
