// Decides whether and when an exited container starts again. kubelet: ShouldContainerBeRestarted, doBackOff

import type { ObservedContainer } from "../api/observed-pod.ts";
import type { RestartPolicy } from "../api/pod.ts";
import { nextBackoff, type BackoffEntry, type BackoffPolicy } from "../lib/backoff.ts";
import type { Monotonic } from "../lib/clock.ts";

/** What one process remembers of one container's restarts; forgotten with the process, as the kubelet's is. */
export interface RestartMemory {
  /** Set by each restart. */
  readonly backoff: BackoffEntry | undefined;
  /** The exit the memory speaks of: container id and when this process first saw it dead. */
  readonly exit: { readonly id: string; readonly seenAt: Monotonic } | undefined;
}

/** First restart at once, then 10 s doubling to `max`, from the start after 10 minutes well. */
export function crashLoopPolicy(maxMs: number): BackoffPolicy {
  return { initial: Math.min(10_000, maxMs), max: maxMs, resetAfter: 600_000 };
}

export function shouldRestart(policy: RestartPolicy, exited: ObservedContainer): boolean {
  switch (policy) {
    case "Always":
      return true;
    case "OnFailure":
      return exited.exitCode !== 0;
    case "Never":
      return false;
  }
}

/** When the container whose newest instance is `exitedId` may start again; 0 = now. */
export function restartTime(memory: RestartMemory | undefined, exitedId: string): Monotonic {
  if (memory?.backoff === undefined) return 0;
  if (memory.exit === undefined || memory.exit.id !== exitedId) return 0;
  return memory.exit.seenAt + memory.backoff.delay;
}

/** Notes an exit when it is first seen; a container that ran for `resetAfter` loses its back-off. */
export function rememberExit(
  memory: RestartMemory | undefined,
  exit: { readonly id: string; readonly seenAt: Monotonic },
  policy: BackoffPolicy,
): RestartMemory {
  if (memory?.exit?.id === exit.id) return memory;
  const well = memory?.backoff !== undefined && exit.seenAt - memory.backoff.at > policy.resetAfter;
  return { backoff: well ? undefined : memory?.backoff, exit };
}

/** Notes a restart at `now`: the next exit waits longer. */
export function rememberRestart(
  memory: RestartMemory | undefined,
  now: Monotonic,
  policy: BackoffPolicy,
): RestartMemory {
  // Whether the container had been well was decided when its exit was seen; waiting is no wellness.
  const doubling = { ...policy, resetAfter: Number.POSITIVE_INFINITY };
  return { backoff: nextBackoff(memory?.backoff, now, doubling), exit: undefined };
}
