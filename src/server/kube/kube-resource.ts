// What the Kubernetes API of this node knows of one resource: its names, its objects and its table.

import type { ServerFacts } from "../../node/node-api.ts";
import type { V1Object } from "../../node/v1-shape.ts";

export type KubeVerb =
  "create" | "delete" | "get" | "list" | "patch" | "update" | "watch" | "deletecollection";

/** A column of a server-side Table. k8s: TableColumnDefinition */
export interface TableColumn {
  readonly name: string;
  readonly description: string;
  readonly type: "string" | "integer";
  readonly format?: "name";
  /** 0 = always shown, 1 = with `-o wide` only. */
  readonly priority: 0 | 1;
  /** `now`: wall-clock ms, for ages. */
  readonly cell: (object: V1Object, now: number) => string | number;
}

export interface KubeResource {
  /** "" = the core group. */
  readonly group: string;
  readonly version: string;
  /** As in paths: `pods`. */
  readonly name: string;
  readonly singularName: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly categories?: readonly string[];
  readonly isNamespaced: boolean;
  readonly verbs: readonly KubeVerb[];
  readonly columns: readonly TableColumn[];
  /** All of them, in no order; without `resourceVersion`. */
  readonly objects: (facts: ServerFacts) => readonly V1Object[];
  /** For get and list instead of `objects`, where the runtime has to be asked; rejects if it does not answer. */
  readonly load?: (facts: ServerFacts, signal: AbortSignal) => Promise<readonly V1Object[]>;
  /** Fields that a field selector may name beside `metadata.name` and `metadata.namespace`. */
  readonly selectable: readonly string[];
  /** Members that change without meaning, such as heartbeats: they alone are no new version. */
  readonly volatile?: (object: V1Object) => V1Object;
}

/** `v1`, `metrics.k8s.io/v1beta1`. */
export function apiVersionOf({ group, version }: Pick<KubeResource, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

/** What all objects have, as far as this API reads it. */
export interface ObjectMeta {
  readonly name: string;
  /** undefined = the resource has none. */
  readonly namespace: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}
