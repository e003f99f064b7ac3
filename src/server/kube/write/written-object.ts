// An object as a client sends it → what stands in its file: without what this node adds when it shows an object.

import { formatPath, type FieldPath } from "../../../api/decode/field-path.ts";
import { ANNOTATION } from "../../../api/pod/labels.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json.ts";
import { memberOf } from "../object-meta.ts";

/** Of `metadata`: set by this node, or by the API server that an object was copied from. */
const SERVER_FIELDS: readonly string[] = [
  "creationTimestamp",
  "deletionGracePeriodSeconds",
  "deletionTimestamp",
  "generateName",
  "generation",
  "managedFields",
  "resourceVersion",
  "selfLink",
  "uid",
];
const ORIGIN: readonly string[] = [
  ANNOTATION.configSource,
  ANNOTATION.configHash,
  ANNOTATION.sourceRef,
];

/** `nodeName`: a pod for this node need not name it. */
export function storedObject(object: JsonObject, nodeName: string): JsonObject {
  const { status: _status, ...kept } = object;
  const { annotations, ...metadata } = without(memberOf(object, "metadata"), SERVER_FIELDS);
  const own = isJsonObject(annotations) ? without(annotations, ORIGIN) : annotations;
  const isEmpty = isJsonObject(own) && Object.keys(own).length === 0;
  const spec = object["spec"];
  return {
    ...kept,
    metadata: { ...metadata, ...(own === undefined || isEmpty ? {} : { annotations: own }) },
    ...(isJsonObject(spec) && spec["nodeName"] === nodeName
      ? { spec: without(spec, ["nodeName"]) }
      : {}),
  };
}

function without(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

/** The object without the fields at `paths`, which are written as in errors. */
export function withoutFields(object: JsonObject, paths: ReadonlySet<string>): JsonObject {
  const kept = keep(object, [], paths);
  return isJsonObject(kept) ? kept : object;
}

function keep(value: unknown, path: FieldPath, paths: ReadonlySet<string>): unknown {
  if (Array.isArray(value))
    return value.map((item: unknown, index) => keep(item, [...path, index], paths));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).flatMap(([key, member]) => {
    const below = [...path, key];
    return paths.has(formatPath(below)) ? [] : [[key, keep(member, below, paths)] as const];
  });
  return Object.fromEntries(members);
}
