// Decides whether and when a container that has exited starts again. kubelet: ShouldContainerBeRestarted, doBackOff

import type { ObservedContainer, KilledInstance } from "../../api/pod/observed-pod.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import { restartsAfter, restartsAfterKill } from "../../api/pod/restart-policy.ts";
import { nextBackoff, type BackoffEntry, type BackoffPolicy } from "../../lib/backoff.ts";
import type { Monotonic } from "../../lib/clock.ts";
import type { Container } from "../../api/v1/container.ts";

/** What is remembered of one container's restarts; forgotten with the process, as the kubelet's is, but for `killed`. */
export interface RestartMemory {
  /** Set by each restart. */
  readonly backoff: BackoffEntry | undefined;
  /** The exit the memory speaks of: container id and when this process first saw it dead. */
  readonly exit: { readonly id: string; readonly seenAt: Monotonic } | undefined;
  /** The instance that was ended so that another takes its place: its exit code tells nothing. */
  readonly killed?: KilledInstance;
}

/** First restart at once, then 10 s doubling to `max`, from the start after 10 minutes well. */
export function crashLoopPolicy(maxMs: number): BackoffPolicy {
  return { initial: Math.min(10_000, maxMs), max: maxMs, resetAfter: 600_000 };
}

export interface ExitedInstance {
  readonly container: Container;
  readonly exited: ObservedContainer;
  readonly memory: RestartMemory | undefined;
}

/** Whether another instance follows this one. */
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
 * Notes an exit when it is first seen; a container that ran for `resetAfter` loses its back-off. A cap that was
 * lowered since holds for the wait under way.
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

/** Notes a restart at `now`: the next exit waits longer. It may fail, and then what ended the last one still counts. */
export function rememberRestart(
  memory: RestartMemory | undefined,
  now: Monotonic,
  policy: BackoffPolicy,
): RestartMemory {
  // Whether the container had been well was decided when its exit was seen; waiting is no wellness.
  const doubling = { ...policy, resetAfter: Number.POSITIVE_INFINITY };
  return { ...memory, backoff: nextBackoff(memory?.backoff, now, doubling), exit: undefined };
}

/** Notes that an instance is ended to make room for another. */
export function rememberKill(
  memory: RestartMemory | undefined,
  killed: KilledInstance,
): RestartMemory {
  return { backoff: undefined, exit: undefined, ...memory, killed };
}
