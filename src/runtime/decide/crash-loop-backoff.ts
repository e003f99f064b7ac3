// Decides whether and when a container that has exited starts again: the restart policy, then the crash loop back-off. kubelet: ShouldContainerBeRestarted, doBackOff

import type { ObservedContainer, KilledInstance } from "../../api/pod/observed-pod.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import { restartsAfter, restartsAfterKill } from "../../api/pod/restart-policy.ts";
import { nextBackoff, type BackoffEntry, type BackoffPolicy } from "../../lib/backoff.ts";
import type { Monotonic } from "../../lib/clock.ts";
import type { Container } from "../../api/v1/container.ts";

/** One container's restarts, in memory only as in the kubelet, except for `killed`. */
export interface RestartMemory {
  /** Set by each restart. */
  readonly backoff: BackoffEntry | undefined;
  /** The latest exit: container id, and when this process first saw it. */
  readonly exit: { readonly id: string; readonly seenAt: Monotonic } | undefined;
  /** The instance that was stopped to be replaced: its exit code does not count. */
  readonly killed?: KilledInstance;
}

/** The first restart at once, then after 10 s doubling to `max`; reset when it ran for 10 minutes. */
export function crashLoopPolicy(maxMs: number): BackoffPolicy {
  return { initial: Math.min(10_000, maxMs), max: maxMs, resetAfter: 600_000 };
}

export interface ExitedInstance {
  readonly container: Container;
  readonly exited: ObservedContainer;
  readonly memory: RestartMemory | undefined;
}

/** Whether the container gets another instance. */
export function shouldRestart(
  spec: PodSpec,
  { container, exited, memory }: ExitedInstance,
): boolean {
  if (restartsAfter(spec, container, exited.exitCode)) return true;
  if (memory?.killed?.id !== exited.id) return false;
  return memory.killed.always || restartsAfterKill(spec, container);
}

/** When the container whose newest instance is `exitedId` may start again; 0 = now. */
export function restartTime(memory: RestartMemory | undefined, exitedId: string): Monotonic {
  if (memory?.backoff === undefined) return 0;
  if (memory.exit === undefined || memory.exit.id !== exitedId) return 0;
  return memory.exit.seenAt + memory.backoff.delay;
}

/**
 * Notes an exit when it is first seen; a container that ran for `resetAfter` loses its back-off. A cap that was lowered
 * since also applies to the current wait.
 */
export function rememberExit(
  memory: RestartMemory | undefined,
  exit: { readonly id: string; readonly seenAt: Monotonic },
  policy: BackoffPolicy,
): RestartMemory {
  if (memory?.exit?.id === exit.id) return capped(memory, policy);
  const well = memory?.backoff !== undefined && exit.seenAt - memory.backoff.at > policy.resetAfter;
  return capped({ ...memory, backoff: well ? undefined : memory?.backoff, exit }, policy);
}

function capped(memory: RestartMemory, { max }: BackoffPolicy): RestartMemory {
  const { backoff } = memory;
  if (backoff === undefined || backoff.delay <= max) return memory;
  return { ...memory, backoff: { ...backoff, delay: max } };
}

/** Notes a restart at `now`: the next exit waits longer. `killed` stays, because the restart may fail. */
export function rememberRestart(
  memory: RestartMemory | undefined,
  now: Monotonic,
  policy: BackoffPolicy,
): RestartMemory {
  // The reset was decided when the exit was seen: the time of waiting must not count as running.
  const doubling = { ...policy, resetAfter: Number.POSITIVE_INFINITY };
  return { ...memory, backoff: nextBackoff(memory?.backoff, now, doubling), exit: undefined };
}

/** Notes that an instance is stopped to be replaced. */
export function rememberKill(
  memory: RestartMemory | undefined,
  killed: KilledInstance,
): RestartMemory {
  return { backoff: undefined, exit: undefined, ...memory, killed };
}
