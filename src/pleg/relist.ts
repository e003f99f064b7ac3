// How often all pods are listed anew, and which have changed since they were observed. kubelet: generic PLEG

import type { PodUID } from "../api/v1/pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodSummary } from "../runtime/observe/runtime-reader.ts";

export const RELIST_MS = 60_000;
export const RELIST_DEADLINE_MS = 120_000;

/** UIDs whose sandboxes or containers appeared, disappeared or changed state. */
export function changedPods(
  observed: ReadonlyMap<PodUID, ObservedPod>,
  listed: ReadonlyMap<PodUID, PodSummary>,
): readonly PodUID[] {
  const changed: PodUID[] = [];
  for (const [uid, summary] of listed) {
    const known = observed.get(uid);
    if (known === undefined || fingerprint(summary) !== fingerprint(known)) changed.push(uid);
  }
  for (const uid of observed.keys()) if (!listed.has(uid)) changed.push(uid);
  return changed;
}

/** A presumed exit differs from every list until the pod is observed again. */
function fingerprint({ sandboxes, containers }: PodSummary | ObservedPod): string {
  const states = [
    ...sandboxes.map(({ id, state }) => `${id} ${state}`),
    ...containers.map((one) => `${one.id} ${"presumed" in one ? "" : one.state}`),
  ];
  return states.toSorted().join("\n");
}
