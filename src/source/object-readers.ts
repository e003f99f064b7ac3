// Which pods refer to which ConfigMaps, Secrets and claims, by key (`ConfigMap default/web`), and which keys are
// missing.

import { isWarning, type DesiredPod, type Rejection } from "../api/pod/desired-pod.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import { objectKey, type DesiredObject } from "../api/v1/object/local-object.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import { mayUse } from "./object-access.ts";

/** Pods that refer to one of the keys, each once. */
export function readersOf(
  pods: readonly DesiredPod[],
  changed: ReadonlySet<string>,
): readonly PodUID[] {
  const readers = pods.filter(({ pod }) => referredKeys(pod).some((key) => changed.has(key)));
  return [...new Set(readers.map(({ uid }) => uid))];
}

/** What a pod refers to. */
export interface Reference {
  readonly key: string;
  /** The object that it may use; undefined = no source declares one for it. */
  readonly found: DesiredObject | undefined;
}

/** Each key once. */
export function referencesIn(
  reader: DesiredPod,
  objects: readonly DesiredObject[],
): readonly Reference[] {
  const keys = [...new Set(referredKeys(reader.pod))];
  const declared = new Map(objects.map((desired) => [objectKey(desired.object), desired]));
  return keys.map((key) => {
    const found = declared.get(key);
    return { key, found: found !== undefined && mayUse(reader, found) ? found : undefined };
  });
}

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
