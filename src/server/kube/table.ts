// Tables as kubectl prints them. k8s: meta.k8s.io/v1 Table

import type { V1Object } from "../../node/v1-shape.ts";
import type { KubeResource } from "./kube-resource.ts";
import { memberOf } from "./object-meta.ts";

/** What `includeObject` asks for in each row. */
export type IncludeObject = "None" | "Metadata" | "Object";

/** Whether the client prefers a Table, and of which version; undefined = it wants the objects. */
export function tableVersion(accept: string | undefined): "v1" | "v1beta1" | undefined {
  for (const part of (accept ?? "").split(",")) {
    const words = part.split(";").map((word) => word.trim());
    const isJson = ["application/json", "application/*", "*/*"].includes(words[0] ?? "");
    if (!isJson) continue;
    if (!words.includes("as=Table")) return undefined;
    if (!words.includes("g=meta.k8s.io")) continue;
    if (words.includes("v=v1")) return "v1";
    if (words.includes("v=v1beta1")) return "v1beta1";
  }
  return undefined;
}

export function includeObjectOf(query: URLSearchParams): IncludeObject {
  const asked = query.get("includeObject");
  return asked === "None" || asked === "Object" ? asked : "Metadata";
}

export interface TableOptions {
  readonly version: "v1" | "v1beta1";
  readonly include: IncludeObject;
  readonly now: number;
  /** Of the list: `resourceVersion`, `continue`, `remainingItemCount`. */
  readonly metadata: V1Object;
  /** Of a watch, only the first table has them. */
  readonly withColumns: boolean;
}

export function tableOf(
  { columns }: Pick<KubeResource, "columns">,
  objects: readonly V1Object[],
  { version, include, now, metadata, withColumns }: TableOptions,
): V1Object {
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    columnDefinitions: withColumns
      ? columns.map(({ name, type, format = "", description, priority }) => {
          return { name, type, format, description, priority };
        })
      : [],
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, now)),
      ...included(object, include, version),
    })),
  };
}

function included(object: V1Object, include: IncludeObject, version: string): V1Object {
  switch (include) {
    case "None":
      return {};
    case "Metadata":
      return {
        object: {
          kind: "PartialObjectMetadata",
          apiVersion: `meta.k8s.io/${version}`,
          metadata: memberOf(object, "metadata"),
        },
      };
    case "Object":
      return { object };
  }
}
