// Finds the pods that changed since they were observed. kubelet: generic PLEG

import type { PodUID } from "../api/v1/pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodSummary } from "../runtime/observe/runtime-reader.ts";

/** UIDs whose sandboxes or containers appeared, disappeared or changed state. */
export function changedPods(
  observed: ReadonlyMap<PodUID, ObservedPod>,
  listed: ReadonlyMap<PodUID, PodSummary>,
): readonly PodUID[] {
  const changed: PodUID[] = [];
  for (const [uid, summary] of listed) {
    const known = observed.get(uid);
    if (known === undefined || fingerprint(summary) !== fingerprintOf(known)) changed.push(uid);
  }
  for (const uid of observed.keys()) if (!listed.has(uid)) changed.push(uid);
  return changed;
}

function fingerprint(summary: PodSummary): string {
  return [
    ...summary.sandboxes.map((sandbox) => `${sandbox.id} ${sandbox.ready ? "Ready" : "NotReady"}`),
    ...summary.containers.map((container) => `${container.id} ${container.state}`),
  ]
    .toSorted()
    .join("\n");
}

function fingerprintOf(pod: ObservedPod): string {
  return [
    ...pod.sandboxes.map((sandbox) => `${sandbox.id} ${sandbox.state}`),
    // A presumed exit differs from every list until the pod is observed again.
    ...pod.containers.map(({ id, state, presumed }) => `${id} ${presumed === true ? "" : state}`),
  ]
    .toSorted()
    .join("\n");
}
