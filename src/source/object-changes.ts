// Finds the pods that read changed ConfigMaps, Secrets and claims.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import type { PodUID } from "../api/v1/pod.ts";

/** `changed`: keys as `objectKey` writes them. Each pod is listed once. */
export function readersOf(
  pods: readonly DesiredPod[],
  changed: ReadonlySet<string>,
): readonly PodUID[] {
  const readers = pods.filter(({ pod }) =>
    referencesOf(pod).some(({ kind, namespace, name }) =>
      changed.has(`${kind} ${namespace}/${name}`),
    ),
  );
  return [...new Set(readers.map(({ uid }) => uid))];
}
