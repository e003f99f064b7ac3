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

/** Keys that pods refer to, and that no source declares for them. */
export function missingFor(
  pods: readonly DesiredPod[],
  objects: readonly DesiredObject[],
): readonly string[] {
  return pods.flatMap((reader) =>
    [...foundBy(reader, objects)].flatMap(([key, found]) => (found === undefined ? [key] : [])),
  );
}

/** By key that the pod refers to: the object that it may use; undefined = no source declares one for it. */
export function foundBy(
  reader: DesiredPod,
  objects: readonly DesiredObject[],
): ReadonlyMap<string, DesiredObject | undefined> {
  const keys = new Set(referredKeys(reader.pod));
  const declared = objects.filter((desired) => keys.has(objectKey(desired.object)));
  const usable = declared.filter((desired) => mayUse(reader, desired));
  const byKey = new Map(usable.map((desired) => [objectKey(desired.object), desired]));
  return new Map([...keys].map((key) => [key, byKey.get(key)]));
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
