// Selects the objects that `agent get` shows: by name, `-n`, `-A`, `-l` and `--for`.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { ObjectView } from "../api-views.ts";
import { UsageError } from "../exit-codes.ts";
import { matchesSelector, parseSelector } from "./label-selector.ts";
import {
  namespaceOf,
  wordsOf,
  type ObjectReference,
  type OutputFormat,
  type Query,
  type Resource,
} from "./resource-type.ts";
import { NODE, PODS } from "./resources.ts";

/** The flags of `agent get`, as far as the resource has them. */
export interface GetFlags {
  readonly output?: OutputFormat | undefined;
  readonly namespace?: string | undefined;
  readonly allNamespaces?: boolean | undefined;
  readonly selector?: string | undefined;
  readonly for?: string | undefined;
  readonly watch?: boolean | undefined;
  readonly showSecrets?: boolean | undefined;
}

/**
 * `name` as written: `web` or `pod/web`. Throws UsageError for flags that exclude each other and for
 * what cannot be parsed.
 */
export function readQuery(
  resource: Pick<Resource, "name" | "aliases">,
  name: string | undefined,
  flags: GetFlags,
): Query {
  const bare = name === undefined ? undefined : bareName(resource, name);
  const { allNamespaces = false, selector: labels } = flags;
  if (bare !== undefined && allNamespaces)
    throw new UsageError("a name and --all-namespaces exclude each other; use -n NAMESPACE");
  if (bare !== undefined && labels !== undefined)
    throw new UsageError("a name and --selector exclude each other; give one of them");
  const selector = parseSelector(labels ?? "");
  if (!selector.ok) throw new UsageError(selector.errors.map((error) => error.message).join("; "));
  const about = flags.for === undefined ? undefined : readReference(flags.for);
  // A node has no namespace; its events are stored in this one.
  const namespace = about?.kind === "Node" ? "default" : (flags.namespace ?? "default");
  return {
    name: bare,
    namespace: allNamespaces ? undefined : namespace,
    selector: selector.value,
    about,
    showSecrets: flags.showSecrets === true,
  };
}

/** Without the `pod/` that `-o name` prints. */
export function bareName(resource: Pick<Resource, "name" | "aliases">, name: string): string {
  const word = wordsOf(resource).find((one) => name.startsWith(`${one}/`));
  return word === undefined ? name : name.slice(word.length + 1);
}

function readReference(text: string): ObjectReference {
  const [, word = "", name = ""] = /^([^/]*)\/(.+)$/.exec(text) ?? [];
  const resource = [PODS, NODE].find((one) => wordsOf(one).includes(word.toLowerCase()));
  if (resource !== undefined) return { kind: resource.kind, name };
  throw new UsageError(`--for ${text}: it must be pod/NAME or node/NAME`);
}

/** The objects of a query, in the order given. */
export function selectObjects<T extends ObjectView>(
  resource: Resource<T>,
  objects: readonly T[],
  { name, namespace, selector, about }: Query,
): readonly T[] {
  const concerns = (object: T): boolean => {
    const other = about === undefined ? undefined : resource.about?.(object);
    return about === undefined || (other?.kind === about.kind && other.name === about.name);
  };
  if (resource.isSingle === true) return objects;
  return objects.filter(
    (object) =>
      (name === undefined || object.metadata.name === name) &&
      (namespace === undefined || namespaceOf(object) === namespace) &&
      matchesSelector(object.metadata.labels ?? {}, selector) &&
      concerns(object),
  );
}

/** The refusals that may be about what was asked for: a file that cannot be read may contain any object. */
export function selectRefusals(
  { kind, refusals }: Resource,
  rejected: readonly Rejection[],
  query: Query,
): readonly Rejection[] {
  switch (refusals) {
    case "None":
      return [];
    case "All":
      return query.name === undefined ? rejected : rejected.filter((one) => mayBe(one, query));
    case "OfKind":
      return rejected.filter(
        (one) => (one.kind === undefined || one.kind === kind) && mayBe(one, query),
      );
  }
}

function mayBe({ name, namespace }: Rejection, query: Query): boolean {
  if (query.name !== undefined && name !== undefined && name !== query.name) return false;
  return query.namespace === undefined || namespace === undefined || namespace === query.namespace;
}
