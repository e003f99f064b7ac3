// The query of a list or watch. k8s: metav1.ListOptions

import { failed, ok, type Result } from "../../lib/result.ts";
import type { V1Object } from "../../node/v1-shape.ts";
import { matchesFields, parseFieldSelector } from "./field-selector.ts";
import type { KubeResource } from "./kube-resource.ts";
import { matchesSelector, parseSelector } from "./label-selector.ts";
import { metaOf } from "./object-meta.ts";

export interface ListOptions {
  readonly matches: (object: V1Object) => boolean;
  /** undefined = all at once. */
  readonly limit: number | undefined;
  /** Key of the last object of the page before; "" = this is the first. */
  readonly after: string;
  readonly isWatch: boolean;
  /** undefined = from now on, with what there is first. */
  readonly resourceVersion: number | undefined;
  readonly bookmarks: boolean;
  /** What there is comes as events before a bookmark. */
  readonly sendInitialEvents: boolean;
  /** undefined = as long as the client stays. */
  readonly timeoutSeconds: number | undefined;
}

/** `name` and `namespace`: those of the path; undefined = any. */
export function readListOptions(
  query: URLSearchParams,
  resource: KubeResource,
  {
    namespace,
    name,
  }: { readonly namespace?: string | undefined; readonly name?: string | undefined },
): Result<ListOptions> {
  const labels = parseSelector(query.get("labelSelector") ?? "");
  if (!labels.ok) return labels;
  const fields = parseFieldSelector(query.get("fieldSelector") ?? "", resource);
  if (!fields.ok) return fields;
  const limit = countOf(query, "limit");
  const timeoutSeconds = countOf(query, "timeoutSeconds");
  const resourceVersion = countOf(query, "resourceVersion");
  for (const count of [limit, timeoutSeconds, resourceVersion])
    if (typeof count === "string") return refuse(count);
  const after = readContinue(query.get("continue"));
  if (after === undefined) return refuse("continue is not a token of this server: list again");
  return ok({
    matches: (object) => {
      const meta = metaOf(object);
      return (
        (namespace === undefined || meta.namespace === namespace) &&
        (name === undefined || meta.name === name) &&
        matchesSelector(meta.labels, labels.value) &&
        matchesFields(object, fields.value)
      );
    },
    limit: positive(limit),
    after,
    isWatch: ["true", "1"].includes(query.get("watch") ?? ""),
    resourceVersion: positive(resourceVersion),
    bookmarks: query.get("allowWatchBookmarks") === "true",
    sendInitialEvents: query.get("sendInitialEvents") === "true",
    timeoutSeconds: positive(timeoutSeconds),
  });
}

function refuse(message: string): Result<ListOptions> {
  return failed([{ path: "", message, code: "Invalid" }]);
}

/** A string = the error. */
function countOf(query: URLSearchParams, name: string): number | string | undefined {
  const value = query.get(name);
  if (value === null || value === "") return undefined;
  const count = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  return Number.isSafeInteger(count)
    ? count
    : `${name} must be a whole number, not ${JSON.stringify(value)}`;
}

/** 0 means the same as absent. */
function positive(count: number | string | undefined): number | undefined {
  return typeof count === "number" && count > 0 ? count : undefined;
}

const TOKEN = "after:";

export function continueToken(key: string): string {
  return Buffer.from(`${TOKEN}${key}`).toString("base64url");
}

/** undefined = not one of ours. */
function readContinue(token: string | null): string | undefined {
  if (token === null || token === "") return "";
  const text = Buffer.from(token, "base64url").toString();
  return text.startsWith(TOKEN) ? text.slice(TOKEN.length) : undefined;
}
