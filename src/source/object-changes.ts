// Changes of ConfigMaps, Secrets and claims, by key (`ConfigMap default/web`): which pods refer to them, and which changes
// an immutable object forbids.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import { objectKey, type DesiredObject, type LocalObject } from "../api/v1/object/local-object.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import { sameValue } from "../lib/compare.ts";
import type { FieldError } from "../lib/result.ts";

/** Pods that refer to one of the keys, each once. */
export function readersOf(
  pods: readonly DesiredPod[],
  changed: ReadonlySet<string>,
): readonly PodUID[] {
  const readers = pods.filter(({ pod }) => referredKeys(pod).some((key) => changed.has(key)));
  return [...new Set(readers.map(({ uid }) => uid))];
}

/** Keys that the pods refer to and no source declares. */
export function missingFor(
  pods: readonly DesiredPod[],
  objects: readonly DesiredObject[],
): readonly string[] {
  const declared = new Set(objects.map(({ object }) => objectKey(object)));
  return pods.flatMap(({ pod }) => referredKeys(pod)).filter((key) => !declared.has(key));
}

function referredKeys(pod: Pod): readonly string[] {
  return referencesOf(pod).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
}

/** kubernetes: ValidateConfigMapUpdate, ValidateSecretUpdate. The messages show nothing of the content. */
export function immutableErrors(before: LocalObject, now: LocalObject): readonly FieldError[] {
  if (!isImmutable(before)) return [];
  const [was, is]: readonly Readonly<Record<string, unknown>>[] = [{ ...before }, { ...now }];
  const changed = ["data", "binaryData"].filter((field) => !sameValue(was?.[field], is?.[field]));
  const fields = [...(isImmutable(now) ? [] : ["immutable"]), ...changed];
  return fields.map((path) => ({
    path,
    code: "Invalid",
    message: "Forbidden: field is immutable when `immutable` is set",
  }));
}

function isImmutable(object: LocalObject): boolean {
  return "immutable" in object && object.immutable;
}
