// Which events a person asked for.

import type { EventView } from "../api-views.ts";
import { CliError } from "../cli-error.ts";

export interface EventQuery {
  readonly name: string | undefined;
  /** undefined = all of them. */
  readonly namespace: string | undefined;
  /** The object they are about. */
  readonly about: { readonly kind: string; readonly name: string } | undefined;
}

export interface EventQueryFlags {
  readonly namespace?: string | undefined;
  readonly allNamespaces?: boolean | undefined;
  readonly for?: string | undefined;
}

const KINDS: Readonly<Record<string, string>> = {
  pod: "Pod",
  pods: "Pod",
  po: "Pod",
  node: "Node",
  nodes: "Node",
  no: "Node",
};

/** Throws CliError, exit code 2, for flags that contradict each other or name no object. */
export function readEventQuery(name: string | undefined, flags: EventQueryFlags): EventQuery {
  const bare = name?.replace(/^(?:events?|ev)\//, "");
  if (bare !== undefined && flags.allNamespaces === true)
    throw new CliError(2, "a name and --all-namespaces exclude each other; use -n NAMESPACE");
  const about = flags.for === undefined ? undefined : objectOf(flags.for);
  // A node is in no namespace; its events are kept in this one.
  const own = about?.kind === "Node" ? "default" : (flags.namespace ?? "default");
  return { name: bare, namespace: flags.allNamespaces === true ? undefined : own, about };
}

function objectOf(text: string): { readonly kind: string; readonly name: string } {
  const [, word = "", name = ""] = /^([^/]*)\/(.+)$/.exec(text) ?? [];
  const kind = KINDS[word.toLowerCase()];
  if (kind !== undefined) return { kind, name };
  throw new CliError(2, `--for ${text}: it must be pod/NAME or node/NAME`);
}

/** The events of a query, in the order given. */
export function selectEvents(
  events: readonly EventView[],
  query: EventQuery,
): readonly EventView[] {
  const { name, namespace, about } = query;
  return events.filter(
    ({ metadata, involvedObject }) =>
      (name === undefined || metadata.name === name) &&
      (namespace === undefined || (metadata.namespace ?? "default") === namespace) &&
      (about === undefined ||
        (involvedObject.kind === about.kind && involvedObject.name === about.name)),
  );
}
