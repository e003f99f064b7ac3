// Reads members of an object that is JSON.

import { objectUID } from "../../api/pod/pod-identity.ts";
import { isJsonObject } from "../../lib/json.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";
import type { V1Object } from "../../node/v1-shape.ts";
import type { ObjectMeta } from "./kube-resource.ts";

export function metaOf(object: V1Object): ObjectMeta {
  const metadata = memberOf(object, "metadata");
  const { name, namespace } = metadata;
  return {
    name: typeof name === "string" ? name : "",
    namespace: typeof namespace === "string" ? namespace : undefined,
    labels: textsOf(metadata["labels"]),
  };
}

/** The object at `name`; an empty one if there is none. */
export function memberOf(object: V1Object, name: string): V1Object {
  const member = object[name];
  return isJsonObject(member) ? member : {};
}

/** Value at a path such as `status.phase`; undefined = there is none. */
export function valueAt(object: V1Object, path: string): unknown {
  let value: unknown = object;
  for (const name of path.split(".")) value = isJsonObject(value) ? value[name] : undefined;
  return value;
}

export function textsOf(value: unknown): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return {};
  const texts = Object.entries(value).filter((entry): entry is [string, string] => {
    return typeof entry[1] === "string";
  });
  return Object.fromEntries(texts);
}

/** Distinguishes the objects of one resource. */
export function keyOf(object: V1Object): string {
  const { namespace = "", name } = metaOf(object);
  return `${namespace}/${name}`;
}

const texts = new WeakMap<object, string>();

/** Its JSON. Lists and watches of many clients show the same objects, which never change: one text is enough for them all. */
export function objectText(object: object): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify(object);
  texts.set(object, text);
  return text;
}

/** For kinds that no source declares. */
export function withUID(object: V1Object, sha256: Sha256): V1Object {
  const { name, namespace = "" } = metaOf(object);
  const { kind } = object;
  const uid = objectUID({ kind: typeof kind === "string" ? kind : "", namespace, name }, sha256);
  return { ...object, metadata: { ...memberOf(object, "metadata"), uid } };
}

export function withResourceVersion(object: V1Object, resourceVersion: string): V1Object {
  return { ...object, metadata: { ...memberOf(object, "metadata"), resourceVersion } };
}
