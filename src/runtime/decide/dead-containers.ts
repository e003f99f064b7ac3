// Decides which dead containers and sandboxes of a wanted pod are no longer needed. kubelet: container GC

import {
  type ObservedContainer,
  type ObservedPod,
  lastUsedSandbox,
} from "../../api/pod/observed-pod.ts";

export interface Garbage {
  readonly containers: readonly ObservedContainer[];
  /** Sandbox ids; removing one removes the containers in it. */
  readonly sandboxes: readonly string[];
}

/**
 * Keeps, per container name, the newest instance and the newest dead one before it (logs of the last failure). The
 * newest dead container is a record: without it a finished pod would run again. A container that was created and never
 * started is no record; only the newest of a name may still be needed.
 */
export function planGarbage(observed: ObservedPod): Garbage {
  const kept = new Set<string>();
  const seen = new Map<string, number>();
  const recorded = new Set<string>();
  for (const container of observed.containers) {
    const { id, name, state } = container;
    const before = seen.get(name) ?? 0;
    if (before > 0 && state === "Created") continue;
    const isRecord = state === "Exited" && !recorded.has(name);
    if (isRecord) recorded.add(name);
    if (before < 2 || isRecord) kept.add(id);
    seen.set(name, before + 1);
  }
  const containers = observed.containers.filter(
    ({ id, state }) => !kept.has(id) && (state === "Exited" || state === "Created"),
  );
  const left = observed.containers.filter((container) => !containers.includes(container));
  const inUse = new Set(left.map(({ sandboxId }) => sandboxId));
  const sandboxes = observed.sandboxes
    .slice(isLate({ ...observed, containers: left }) ? 0 : 1)
    .filter((sandbox) => sandbox.state === "NotReady" && !inUse.has(sandbox.id))
    .map((sandbox) => sandbox.id);
  return { containers, sandboxes };
}

/** The newest sandbox came up late beside the one that the pod uses, and is not in use. */
function isLate(observed: ObservedPod): boolean {
  const used = lastUsedSandbox(observed);
  return used?.state === "Ready" && used !== observed.sandboxes[0];
}
