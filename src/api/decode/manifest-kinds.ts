// The kinds of objects that this node runs or keeps for its pods, and lists of them.

import { harmless } from "./field-rules.ts";
import { invalidAt } from "./field-reader.ts";
import { fieldOf, objectType, string, unread } from "../schema/codec.ts";
import type { Type } from "../schema/type.ts";
import { isOtherKind } from "./other-kinds.ts";
import { typeFields } from "../v1/metadata.ts";
import type { LocalObjectKind } from "../v1/object/local-object.ts";
import { RUN_KINDS, versionOf, WORKLOAD_KINDS, type RunKind } from "../workload/workload-kinds.ts";
import { abbreviated, nearestName } from "../../lib/suggest.ts";

/** What runs on this node, or is kept for its pods. */
export const MANIFEST_KINDS = [
  "Pod",
  "ConfigMap",
  "Secret",
  "PersistentVolumeClaim",
  ...RUN_KINDS,
] as const satisfies readonly ("Pod" | LocalObjectKind | RunKind)[];
export type ManifestKind = (typeof MANIFEST_KINDS)[number];

/** All that are read: workloads turn into pods. */
export const OWN_OBJECTS: readonly string[] = [...MANIFEST_KINDS, ...WORKLOAD_KINDS];

/** Lists, each with the kind of its items that name none: an API server leaves it out. */
const LISTS: Readonly<Record<string, string | undefined>> = {
  List: undefined,
  ...Object.fromEntries(OWN_OBJECTS.map((kind) => [`${kind}List`, kind])),
};
export const LIST_KINDS: readonly string[] = Object.keys(LISTS);
const OWN_KINDS: readonly string[] = [...OWN_OBJECTS, ...LIST_KINDS];

/** Items of any kind: each is read as if it were alone. */
const ITEMS: Type<readonly unknown[]> = {
  name: "[]Object",
  read: (at) => (Array.isArray(at.value) ? at.value : invalidAt(at, "must be a list")),
  write: (items) => items,
  schema: () => ({ type: "array", items: { type: "object" } }),
};

const VERSIONS: readonly string[] = [...new Set(OWN_OBJECTS.map(versionOf))];

export const LIST = objectType("List", {
  ...typeFields("List"),
  apiVersion: string({
    about: "Version of the API: v1, or that of its items.",
    required: '"v1"',
    check: (version) => (VERSIONS.includes(version) ? undefined : 'must be "v1"'),
    schema: { enum: VERSIONS },
  }),
  metadata: unread("ListMeta", "Facts of an API server about the list.", harmless),
  items: fieldOf(ITEMS)({ about: "The objects.", default: [], marked: true }),
});

/** Whether a `kind` as written is that of a list. */
export function isList(kind: unknown): kind is string {
  return typeof kind === "string" && Object.hasOwn(LISTS, kind);
}

/** The kind of an item of `list` that has none; undefined = each item must have one. */
export function itemKind(list: string): string | undefined {
  return LISTS[list];
}

/**
 * The kind of this node that was probably meant; undefined = the kind is no misspelt one. Kinds of another API group are
 * compared strictly: PodMonitor is no Pod.
 */
export function misspeltKind(kind: string, apiVersion: unknown): string | undefined {
  if (isOtherKind(kind)) return undefined;
  const version = typeof apiVersion === "string" ? apiVersion : "";
  const nearest = nearestName(kind, OWN_KINDS, 1);
  if (!version.includes("/")) return nearest ?? abbreviated(kind, OWN_KINDS);
  const isForeign = version.split("/", 1)[0]?.includes(".") === true;
  return isForeign ? undefined : nearest;
}
