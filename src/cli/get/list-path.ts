// Where on the API of the agent the wanted objects are.

import { UsageError } from "../exit-codes.ts";
import type { ApiResource } from "./api-resources.ts";

/** The flags of `agent get`. */
export interface GetFlags {
  readonly output?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  /** Of events: the object that they are about. */
  readonly for?: string;
  readonly watch?: boolean;
  readonly watchOnly?: boolean;
  readonly sortBy?: string;
  /** false = `--no-headers`. */
  readonly headers?: boolean;
  readonly showKind?: boolean;
  readonly showLabels?: boolean;
  readonly labelColumns?: readonly string[];
  readonly ignoreNotFound?: boolean;
  readonly showSecrets?: boolean;
}

export const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** Objects of one kind, or one of them. */
interface Place {
  readonly resource: Pick<ApiResource, "root" | "name" | "isNamespaced">;
  /** undefined = all of them. */
  readonly name?: string | undefined;
}

/** Throws UsageError for `--for` that names no object. */
export function listPath(
  { resource, name }: Place,
  flags: GetFlags,
  more: Readonly<Record<string, string>> = {},
): string {
  const { namespace = "default", allNamespaces = false, showSecrets } = flags;
  const about = flags.for === undefined ? undefined : aboutOf(flags.for);
  // A node has no namespace; its events are stored in this one.
  const place = about?.kind === "Node" ? "default" : namespace;
  const isInOne = resource.isNamespaced && !allNamespaces;
  const within = isInOne ? `/namespaces/${encodeURIComponent(place)}` : "";
  const query = selection(flags, about, more);
  // The content of Secrets is shown only on request.
  if (resource.name === "secrets" && showSecrets !== true) query.set("showSecrets", "false");
  const object = name === undefined ? "" : `/${encodeURIComponent(name)}`;
  const asked = query.toString();
  return `${resource.root}${within}/${resource.name}${object}${asked === "" ? "" : `?${asked}`}`;
}

function selection(
  { selector, fieldSelector }: GetFlags,
  about: ObjectReference | undefined,
  more: Readonly<Record<string, string>>,
): URLSearchParams {
  const query = new URLSearchParams(more);
  const fields = fieldSelector === undefined ? [] : [fieldSelector];
  if (about !== undefined)
    fields.push(`involvedObject.kind=${about.kind}`, `involvedObject.name=${about.name}`);
  if (selector !== undefined) query.set("labelSelector", selector);
  if (fields.length > 0) query.set("fieldSelector", fields.join(","));
  return query;
}

interface ObjectReference {
  readonly kind: string;
  readonly name: string;
}

const KINDS: Readonly<Record<string, string>> = {
  pod: "Pod",
  pods: "Pod",
  po: "Pod",
  node: "Node",
  nodes: "Node",
  no: "Node",
};

function aboutOf(written: string): ObjectReference {
  const [, word = "", name = ""] = /^([^/]*)\/(.+)$/.exec(written) ?? [];
  const kind = KINDS[word.toLowerCase()];
  if (kind !== undefined) return { kind, name };
  throw new UsageError(`--for ${written}: it must be pod/NAME or node/NAME`);
}
