// Which pods refer to which ConfigMaps, Secrets and claims, by key (`ConfigMap default/web`), and which are declared with
// a mistake.

import { isWarning, type DesiredPod, type Rejection } from "../api/pod/desired-pod.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";

/** Pods that refer to one of the keys, each once. */
export function readersOf(
  pods: readonly DesiredPod[],
  changed: ReadonlySet<string>,
): readonly PodUID[] {
  const readers = pods.filter(({ pod }) => referredKeys(pod).some((key) => changed.has(key)));
  return [...new Set(readers.map(({ uid }) => uid))];
}

/** Keys (`ConfigMap default/web`) of what the pod refers to, as often as it does. */
export function referredKeys(pod: Pod): readonly string[] {
  return referencesOf(pod).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
}

/** Keys of objects that are declared with a mistake: one that is absent may be there when it is mended. */
export function mistakenObjects(rejected: readonly Rejection[]): ReadonlySet<string> {
  return new Set(
    rejected.flatMap((one) =>
      one.kind === undefined || one.name === undefined || isWarning(one)
        ? []
        : `${one.kind} ${one.namespace}/${one.name}`,
    ),
  );
}
