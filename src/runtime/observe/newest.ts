// Which of a pod's sandboxes and containers count. "Newest" is the highest attempt, never the latest creation time: wall
// clocks jump (docs/architecture.md#laws, highest-attempt).

import {
  type ObservedContainer,
  type ObservedPod,
  type ObservedSandbox,
  isOfThisRun,
  lastUsedSandbox,
  newestContainer,
} from "../../api/pod/observed-pod.ts";
import type { Pod } from "../../api/v1/pod.ts";
import { shouldRestart, type RestartMemory } from "../decide/crash-loop-backoff.ts";
import type { Container } from "../../api/v1/container.ts";

/**
 * The sandbox in which containers can run; undefined = a new one is needed. The newest, unless that one came up late and
 * empty from a call whose answer was lost: it must not end what runs in the one before it. kubelet: podSandboxChanged
 */
export function usableSandbox(
  pod: Pod,
  observed: ObservedPod | undefined,
): ObservedSandbox | undefined {
  const candidates = [lastUsedSandbox(observed), observed?.sandboxes[0]];
  return candidates.find((sandbox) => sandbox !== undefined && isUsable(pod, sandbox));
}

function isUsable({ spec }: Pod, { state, hostNetwork, ips }: ObservedSandbox): boolean {
  return state === "Ready" && hostNetwork === spec.hostNetwork && (hostNetwork || ips.length > 0);
}

/** Runs, or may still run. */
export function isLive({ state }: ObservedContainer): boolean {
  return state === "Running" || state === "Unknown";
}

/** A container that was created and never started is replaced under its own attempt number. */
export function nextAttempt(newest: ObservedContainer | undefined): number {
  if (newest === undefined) return 0;
  return newest.state === "Created" ? newest.attempt : newest.attempt + 1;
}

/** Every app container has ended for good, or an init container has failed for good: nothing starts again. */
export function isFinished(
  pod: Pod,
  observed: ObservedPod | undefined,
  restarts: Readonly<Record<string, RestartMemory>>,
): boolean {
  const ended = (container: Container): ObservedContainer | undefined => {
    const exited = newestContainer(observed, container.name);
    const memory = restarts[container.name];
    if (exited?.state !== "Exited" || !isOfThisRun(observed, exited)) return undefined;
    return shouldRestart(pod.spec, { container, exited, memory }) ? undefined : exited;
  };
  const { initContainers, containers } = pod.spec;
  if (containers.every((container) => ended(container) !== undefined)) return true;
  // Next to an app container, a failed init container is from an earlier sandbox; the record of its successor is gone.
  if (containers.some(({ name }) => ranInLastSandbox(observed, name))) return false;
  return initContainers.some((container) => (ended(container)?.exitCode ?? 0) !== 0);
}

function ranInLastSandbox(observed: ObservedPod | undefined, container: string): boolean {
  const last = lastUsedSandbox(observed);
  const own = observed?.containers.filter(({ name }) => name === container) ?? [];
  return own.some(
    (one) => one.sandboxId === last?.id && one.state !== "Created" && isOfThisRun(observed, one),
  );
}

/**
 * Highest `<n>` of the files named `<n>.log` (also rotated, `<n>.log.<time>`); −1 = none. The logs remain when the runtime
 * has lost a container. kubelet: calcRestartCountByLogDir
 */
export function highestLogAttempt(entries: readonly { readonly name: string }[]): number {
  return entries.reduce((highest, { name }) => {
    const match = /^(\d{1,9})\.log(?:\.|$)/.exec(name);
    return match === null ? highest : Math.max(highest, Number(match[1]));
  }, -1);
}
