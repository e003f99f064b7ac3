// Which pods a person asked for.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { PodView } from "../api-views.ts";
import { CliError } from "../cli-error.ts";
import { matchesSelector, parseSelector, type LabelSelector } from "./label-selector.ts";
import { podNamespace } from "./pod-table.ts";

export interface PodQuery {
  readonly name: string | undefined;
  /** undefined = all of them. */
  readonly namespace: string | undefined;
  readonly selector: LabelSelector;
}

export interface PodQueryFlags {
  readonly namespace?: string | undefined;
  readonly allNamespaces?: boolean | undefined;
  readonly selector?: string | undefined;
}

/** `name` as written: `web` or `pod/web`. Throws CliError, exit code 2, for flags that contradict each other. */
export function readQuery(name: string | undefined, flags: PodQueryFlags): PodQuery {
  const bare = name?.replace(/^(?:pods?|po)\//, "");
  if (bare !== undefined && flags.allNamespaces === true)
    throw new CliError(2, "a name and --all-namespaces exclude each other; use -n NAMESPACE");
  if (bare !== undefined && flags.selector !== undefined)
    throw new CliError(2, "a name and --selector exclude each other; give one of them");
  const selector = parseSelector(flags.selector ?? "");
  if (!selector.ok) throw new CliError(2, selector.errors.map((error) => error.message).join("; "));
  const namespace = flags.allNamespaces === true ? undefined : (flags.namespace ?? "default");
  return { name: bare, namespace, selector: selector.value };
}

/** The pods of a query, by namespace, then name. */
export function selectPods(pods: readonly PodView[], query: PodQuery): readonly PodView[] {
  const key = (pod: PodView): string => `${podNamespace(pod)}\0${pod.metadata.name}`;
  return pods
    .filter(
      (pod) =>
        (query.name === undefined || pod.metadata.name === query.name) &&
        (query.namespace === undefined || podNamespace(pod) === query.namespace) &&
        matchesSelector(pod.metadata.labels ?? {}, query.selector),
    )
    .toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Whether a refusal may be about what was asked for: a file without a readable name may hold any pod. */
export function concerns(rejection: Rejection, query: PodQuery): boolean {
  if (query.name === undefined) return true;
  if (rejection.name !== undefined && rejection.name !== query.name) return false;
  return rejection.namespace === undefined || rejection.namespace === query.namespace;
}
