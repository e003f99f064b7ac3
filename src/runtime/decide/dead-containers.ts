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

export interface GarbagePolicy {
  /** Instances of each container that stay beside the newest, as far as they are not needed as a record. */
  readonly maxPerPodContainer: number;
  /** Whether this instance has been dead for too short a time. */
  readonly isTooNew?: (container: ObservedContainer) => boolean;
}

const DEFAULTS: GarbagePolicy = { maxPerPodContainer: 1 };

/**
 * Keeps, per container name, the newest instance, the newest dead one (logs of the last failure) and as many older ones as the
 * policy allows. The newest dead container is a record: without it a finished pod would run again. A container that was
 * created and never started is no record; only the newest of a name may still be needed.
 */
export function planGarbage(observed: ObservedPod, policy: GarbagePolicy = DEFAULTS): Garbage {
  const { maxPerPodContainer, isTooNew = () => false } = policy;
  const kept = new Set<string>();
  const seen = new Map<string, number>();
  const recorded = new Set<string>();
  for (const container of observed.containers) {
    const { id, name, state } = container;
    const before = seen.get(name) ?? 0;
    if (before > 0 && state === "Created") continue;
    const isRecord = state === "Exited" && !recorded.has(name);
    if (isRecord) recorded.add(name);
    if (before <= maxPerPodContainer || isRecord || isTooNew(container)) kept.add(id);
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

/**
 * What each container may keep beside its newest instance, so that the whole node keeps at most `maxContainers` (-1 = no
 * limit). kubelet: enforceMaxContainersPerEvictUnit
 */
export function perContainerLimit(
  { maxPerPodContainer, maxContainers }: NodeGarbagePolicy,
  pods: Iterable<ObservedPod>,
): number {
  if (maxContainers < 0) return maxPerPodContainer;
  const older = new Map<string, number>();
  for (const { uid, containers } of pods) {
    const newest = new Set<string>();
    for (const { name, state } of containers) {
      if (newest.has(name) && state === "Exited") {
        const key = `${uid} ${name}`;
        older.set(key, (older.get(key) ?? 0) + 1);
      }
      newest.add(name);
    }
  }
  const wanted = [...older.values()].map((count) => Math.min(count, maxPerPodContainer));
  if (wanted.reduce((sum, count) => sum + count, 0) <= maxContainers) return maxPerPodContainer;
  return Math.min(maxPerPodContainer, Math.floor(maxContainers / older.size));
}

export interface NodeGarbagePolicy {
  readonly maxPerPodContainer: number;
  readonly maxContainers: number;
}

/** The newest sandbox came up late beside the one that the pod uses, and is not in use. */
function isLate(observed: ObservedPod): boolean {
  const used = lastUsedSandbox(observed);
  return used?.state === "Ready" && used !== observed.sandboxes[0];
}
