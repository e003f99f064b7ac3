// Decides what has to happen to one pod in the runtime; performs nothing. kubelet: computePodActions

import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../api/observed-pod.ts";
import type { Container, Pod } from "../api/pod.ts";
import type { Monotonic } from "../lib/clock.ts";
import { shouldRestart, restartTime, type RestartMemory } from "./container-restart.ts";

export type KillReason =
  "SandboxChanged" | "ContainerUnknown" | "NotInSpec" | "Duplicate" | "Finished";

/** One step; the log line, the test and the executor say the same words. */
export type PodAction =
  /** StopPodSandbox: also kills whatever still runs in it; the records of its containers stay. */
  | { readonly type: "StopSandbox"; readonly id: string; readonly reason: KillReason }
  | { readonly type: "CreateSandbox"; readonly attempt: number }
  | {
      readonly type: "KillContainer";
      readonly id: string;
      readonly container: string;
      readonly reason: KillReason;
    }
  /** Only for containers that were created and never started. */
  | { readonly type: "RemoveContainer"; readonly id: string; readonly container: string }
  /** `attempt` is the lowest that is free as far as the runtime tells; the executor also looks at the logs. */
  | { readonly type: "StartContainer"; readonly container: string; readonly attempt: number }
  | {
      readonly type: "Wait";
      readonly container: string;
      readonly until: Monotonic;
      readonly reason: "CrashLoopBackOff";
    };

export interface ActionContext {
  readonly now: Monotonic;
  /** What is remembered of each container's restarts in this process; absent = nothing. */
  readonly restarts: Readonly<Record<string, RestartMemory>>;
}

/**
 * The steps, in order, that bring the runtime to what the pod asks for; empty when it is there already.
 * "Newest" is always the highest attempt, never a creation time.
 */
export function computePodActions(
  pod: Pod,
  observed: ObservedPod | undefined,
  context: ActionContext,
): readonly PodAction[] {
  const sandbox = usableSandbox(pod, observed);
  return sandbox === undefined
    ? withoutSandbox(pod, observed)
    : inSandbox(pod, observed, { sandbox, context });
}

/** The newest sandbox if containers can run in it; undefined asks for a new one. kubelet: podSandboxChanged */
export function usableSandbox(
  pod: Pod,
  observed: ObservedPod | undefined,
): ObservedSandbox | undefined {
  const newest = observed?.sandboxes[0];
  if (newest === undefined || newest.state !== "Ready") return undefined;
  if (newest.hostNetwork !== pod.spec.hostNetwork) return undefined;
  if (!newest.hostNetwork && newest.ips.length === 0) return undefined;
  return newest;
}

/** The newest instance of a container; containers are ordered by name, then highest attempt first. */
export function newestContainer(
  observed: ObservedPod | undefined,
  name: string,
): ObservedContainer | undefined {
  return observed?.containers.find((container) => container.name === name);
}

/** True when every container of the spec has ended for good under the pod's restart policy. */
export function isFinished(pod: Pod, observed: ObservedPod | undefined): boolean {
  return pod.spec.containers.every((container) => {
    const newest = newestContainer(observed, container.name);
    return newest?.state === "Exited" && !shouldRestart(pod.spec.restartPolicy, newest);
  });
}

function withoutSandbox(pod: Pod, observed: ObservedPod | undefined): readonly PodAction[] {
  const finished = isFinished(pod, observed);
  const reason: KillReason = finished ? "Finished" : "SandboxChanged";
  const stops = stopAllSandboxes(observed, reason);
  if (finished) return stops;
  if (neverAgain(pod, observed)) return [...stops, ...removeUnstarted(observed)];
  const starts = pod.spec.containers
    .map((container) => startAnew(pod, container, observed))
    .filter((action) => action !== undefined);
  const attempt = (observed?.sandboxes[0]?.attempt ?? -1) + 1;
  return [...stops, ...removeUnstarted(observed), { type: "CreateSandbox", attempt }, ...starts];
}

/**
 * A Never pod that already ran something does not get a second sandbox.
 * kubelet: "Should not restart the pod", attempt ≠ 0 with container statuses
 */
function neverAgain(pod: Pod, observed: ObservedPod | undefined): boolean {
  if (pod.spec.restartPolicy !== "Never" || observed === undefined) return false;
  return observed.sandboxes.length > 0 && observed.containers.some((c) => c.state !== "Created");
}

/** In a new sandbox back-off does not count: the sandbox died, not the container. */
function startAnew(
  pod: Pod,
  container: Container,
  observed: ObservedPod | undefined,
): PodAction | undefined {
  const newest = newestContainer(observed, container.name);
  if (newest?.state === "Exited" && !shouldRestart(pod.spec.restartPolicy, newest))
    return undefined;
  return { type: "StartContainer", container: container.name, attempt: nextAttempt(newest) };
}

/** Whatever may still hold processes or addresses; a sandbox known to be down holds neither once its containers are. */
function stopAllSandboxes(
  observed: ObservedPod | undefined,
  reason: KillReason,
): readonly PodAction[] {
  if (observed === undefined) return [];
  return observed.sandboxes
    .filter((sandbox) => sandbox.state === "Ready" || hasLiveContainer(observed, sandbox.id))
    .map((sandbox) => ({ type: "StopSandbox", id: sandbox.id, reason }));
}

function hasLiveContainer(observed: ObservedPod, sandboxId: string): boolean {
  return observed.containers.some(
    (container) =>
      container.sandboxId === sandboxId &&
      (container.state === "Running" || container.state === "Unknown"),
  );
}

function removeUnstarted(observed: ObservedPod | undefined): readonly PodAction[] {
  return (observed?.containers ?? [])
    .filter((container) => container.state === "Created")
    .map((container) => ({
      type: "RemoveContainer",
      id: container.id,
      container: container.name,
    }));
}

interface InSandbox {
  readonly sandbox: ObservedSandbox;
  readonly context: ActionContext;
}

function inSandbox(
  pod: Pod,
  observed: ObservedPod | undefined,
  { sandbox, context }: InSandbox,
): readonly PodAction[] {
  if (observed === undefined) return [];
  const actions = [
    ...stopOtherSandboxes(observed, sandbox),
    ...killStrangers(pod, observed, sandbox),
    ...pod.spec.containers.flatMap((container) =>
      forContainer(pod, container, { observed, context }),
    ),
  ];
  if (actions.length > 0 || !isFinished(pod, observed)) return actions;
  // While the runtime is still clearing up the last one, a stop would only get in its way.
  if (observed.containers.some(({ presumed }) => presumed === true)) return actions;
  return [{ type: "StopSandbox", id: sandbox.id, reason: "Finished" }];
}

function stopOtherSandboxes(observed: ObservedPod, keep: ObservedSandbox): readonly PodAction[] {
  return observed.sandboxes
    .filter((sandbox) => sandbox.id !== keep.id)
    .filter((sandbox) => sandbox.state === "Ready" || hasLiveContainer(observed, sandbox.id))
    .map((sandbox) => ({ type: "StopSandbox", id: sandbox.id, reason: "Duplicate" }));
}

/** Running instances that are not the newest of their name, or whose name the spec does not have. */
function killStrangers(
  pod: Pod,
  observed: ObservedPod,
  sandbox: ObservedSandbox,
): readonly PodAction[] {
  const names = new Set(pod.spec.containers.map((container) => container.name));
  return observed.containers
    .filter((container) => container.sandboxId === sandbox.id && container.state === "Running")
    .filter((c) => !names.has(c.name) || newestContainer(observed, c.name)?.id !== c.id)
    .map((container) => ({
      type: "KillContainer",
      id: container.id,
      container: container.name,
      reason: names.has(container.name) ? "Duplicate" : "NotInSpec",
    }));
}

interface ForContainer {
  readonly observed: ObservedPod;
  readonly context: ActionContext;
}

function forContainer(
  pod: Pod,
  container: Container,
  { observed, context }: ForContainer,
): readonly PodAction[] {
  const newest = newestContainer(observed, container.name);
  const start: PodAction = {
    type: "StartContainer",
    container: container.name,
    attempt: nextAttempt(newest),
  };
  if (newest === undefined) return [start];
  switch (newest.state) {
    case "Created":
      return [{ type: "RemoveContainer", id: newest.id, container: container.name }, start];
    case "Unknown": {
      const kill = killOf(newest, "ContainerUnknown");
      return pod.spec.restartPolicy === "Never" ? [kill] : [kill, start];
    }
    case "Running":
      // In another sandbox: stopOtherSandboxes ends it, and the look after that starts it anew.
      return [];
    case "Exited": {
      if (!shouldRestart(pod.spec.restartPolicy, newest)) return [];
      const until = restartTime(context.restarts[container.name], newest.id);
      if (until <= context.now) return [start];
      return [{ type: "Wait", container: container.name, until, reason: "CrashLoopBackOff" }];
    }
  }
}

function killOf(container: ObservedContainer, reason: KillReason): PodAction {
  return { type: "KillContainer", id: container.id, container: container.name, reason };
}

/** A container that was created and never started gives its number back. */
function nextAttempt(newest: ObservedContainer | undefined): number {
  if (newest === undefined) return 0;
  return newest.state === "Created" ? newest.attempt : newest.attempt + 1;
}
