// The kinds that `agent apply`, `delete` and `diff` write, and where the API has their objects.

import { findSchemaKind } from "../../api/schema/schema-kinds.ts";
import { UsageError } from "../exit-codes.ts";

/** As in paths. */
const PLURALS: Readonly<Record<string, string>> = {
  Pod: "pods",
  ConfigMap: "configmaps",
  Secret: "secrets",
  PersistentVolumeClaim: "persistentvolumeclaims",
};

export interface NamedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export function isWrittenKind(kind: string): boolean {
  return Object.hasOwn(PLURALS, kind);
}

/** By any of its names, such as `po` or `configmaps`. Throws UsageError. */
export function kindOfWord(word: string): string {
  const kind = findSchemaKind(word)?.kind;
  if (kind !== undefined && isWrittenKind(kind)) return kind;
  throw new UsageError(
    `${JSON.stringify(word)} is nothing that can be deleted here: name a pod, configmap, secret or persistentvolumeclaim`,
  );
}

/** `pods`. */
export function pluralOf(kind: string): string {
  return PLURALS[kind] ?? kind.toLowerCase();
}

export function objectPath({ kind, namespace, name }: NamedObject): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/${pluralOf(kind)}/${encodeURIComponent(name)}`;
}

/** `pod/web`. */
export function shownName({ kind, name }: Pick<NamedObject, "kind" | "name">): string {
  return `${kind.toLowerCase()}/${name}`;
}
