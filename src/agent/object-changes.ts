// Finds the pods that have to hear of changed ConfigMaps, Secrets and claims.

import type { DesiredPod } from "../api/desired-pod.ts";
import { referencesOf } from "../api/object-references.ts";
import type { PodUID } from "../api/pod.ts";

/** `changed`: keys as `objectKey` writes them. A pod stands here once. */
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
