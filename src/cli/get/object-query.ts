// Which local objects a person asked for.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { LocalObjectView } from "../api-views.ts";
import { CliError } from "../cli-error.ts";
import { matchesSelector, parseSelector, type LabelSelector } from "./label-selector.ts";

/** As Kubernetes calls it in paths and messages. */
export type ObjectResource = "configmaps" | "secrets" | "persistentvolumeclaims";

export interface ObjectQuery {
  readonly resource: ObjectResource;
  readonly name: string | undefined;
  /** undefined = all of them. */
  readonly namespace: string | undefined;
  readonly selector: LabelSelector;
}

export interface ObjectQueryFlags {
  readonly namespace?: string | undefined;
  readonly allNamespaces?: boolean | undefined;
  readonly selector?: string | undefined;
}

/** The other words for it, and the kind itself. */
export const OBJECT_WORDS: Readonly<
  Record<ObjectResource, { readonly kind: string; readonly aliases: readonly string[] }>
> = {
  configmaps: { kind: "ConfigMap", aliases: ["configmap", "cm"] },
  secrets: { kind: "Secret", aliases: ["secret"] },
  persistentvolumeclaims: {
    kind: "PersistentVolumeClaim",
    aliases: ["persistentvolumeclaim", "pvc"],
  },
};

/** `name` as written: `web` or `cm/web`. Throws CliError, exit code 2, for flags that contradict each other. */
export function readObjectQuery(
  resource: ObjectResource,
  name: string | undefined,
  flags: ObjectQueryFlags,
): ObjectQuery {
  const bare = name === undefined ? undefined : bareName(resource, name);
  if (bare !== undefined && flags.allNamespaces === true)
    throw new CliError(2, "a name and --all-namespaces exclude each other; use -n NAMESPACE");
  if (bare !== undefined && flags.selector !== undefined)
    throw new CliError(2, "a name and --selector exclude each other; give one of them");
  const selector = parseSelector(flags.selector ?? "");
  if (!selector.ok) throw new CliError(2, selector.errors.map((error) => error.message).join("; "));
  const namespace = flags.allNamespaces === true ? undefined : (flags.namespace ?? "default");
  return { resource, name: bare, namespace, selector: selector.value };
}

/** Without the `cm/` that `-o name` prints. */
export function bareName(resource: ObjectResource, name: string): string {
  const words = [resource, ...OBJECT_WORDS[resource].aliases];
  const word = words.find((one) => name.startsWith(`${one}/`));
  return word === undefined ? name : name.slice(word.length + 1);
}

/** In the order given. */
export function selectObjects(
  objects: readonly LocalObjectView[],
  { name, namespace, selector }: ObjectQuery,
): readonly LocalObjectView[] {
  return objects.filter(
    ({ metadata }) =>
      (name === undefined || metadata.name === name) &&
      (namespace === undefined || metadata.namespace === namespace) &&
      matchesSelector(metadata.labels ?? {}, selector),
  );
}

/** Whether a refusal may be about what was asked for: a file that cannot be read may hold anything. */
export function concernsObjects(rejection: Rejection, query: ObjectQuery): boolean {
  const { kind, name, namespace } = rejection;
  if (kind !== undefined && kind !== OBJECT_WORDS[query.resource].kind) return false;
  if (query.name !== undefined && name !== undefined && name !== query.name) return false;
  return query.namespace === undefined || namespace === undefined || namespace === query.namespace;
}
