// A written object as the API shows it, before the node has taken it in.

import { generatePodStatus } from "../../../status/generate-pod-status.ts";
import type { Sha256 } from "../../../lib/system-sha256.ts";
import { canonicalJson, isJsonObject, type JsonObject } from "../../../lib/json.ts";
import { v1Object } from "../../../node/object-list.ts";
import { v1Pod } from "../../../node/pod-list.ts";
import type { V1Object } from "../../../node/v1-shape.ts";
import { memberOf } from "../object-meta.ts";
import type { JudgedItem } from "./judge-object.ts";

export interface ShownOptions {
  readonly nodeName: string;
  readonly sha256: Sha256;
  /** Wall-clock milliseconds. */
  readonly now: number;
}

/** With the status of a pod that waits to be started. */
export function expectedObject(
  item: JudgedItem,
  { nodeName, sha256, now }: ShownOptions,
): V1Object {
  if (item.type === "Object") return v1Object(item.desired, sha256);
  const { pod } = item.desired;
  const status = generatePodStatus({
    pod,
    observed: undefined,
    hostIPs: [],
    facts: { waiting: {} },
    now,
  });
  return v1Pod({ ...item.desired, nodeName, status });
}

/** Whether an object that is shown is the expected one, whatever its status. */
export function isAsExpected(shown: V1Object, expected: V1Object): boolean {
  return declaredText(shown) === declaredText(expected);
}

const VOLATILE: readonly string[] = [
  "creationTimestamp",
  "deletionGracePeriodSeconds",
  "deletionTimestamp",
  "resourceVersion",
];

function declaredText(object: V1Object): string {
  const { status: _status, ...declared } = object;
  const metadata = Object.entries(memberOf(object, "metadata")).filter(
    ([key]) => !VOLATILE.includes(key),
  );
  return canonicalJson({ ...declared, metadata: Object.fromEntries(metadata) });
}

/** With who manages it, as its file has it. */
export function withManagedFields(shown: V1Object, stored: JsonObject | undefined): V1Object {
  const { managedFields } = memberOf(stored ?? {}, "metadata");
  if (!Array.isArray(managedFields)) return shown;
  return withMetadata(shown, { managedFields });
}

export function withMetadata(object: V1Object, more: JsonObject): V1Object {
  return { ...object, metadata: { ...memberOf(object, "metadata"), ...more } };
}

/** Of an object that is shown; "" = it has none. */
export function metaText(object: V1Object | undefined, key: string): string {
  const metadata = object?.["metadata"];
  const value = isJsonObject(metadata) ? metadata[key] : undefined;
  return typeof value === "string" ? value : "";
}

/** Of one answer. */
const MAX_WARNINGS = 20;
const MAX_WARNING = 256;

/** Fit for a header: each once, printable ASCII, neither many nor long. */
export function warningTexts(warnings: readonly string[]): readonly string[] {
  const all = [...new Set(warnings)].map((text) =>
    text.replaceAll(/[^\x20-\x7E]+/g, "?").slice(0, MAX_WARNING),
  );
  const more = all.length - MAX_WARNINGS;
  return more > 0 ? [...all.slice(0, MAX_WARNINGS), `and ${more} more warnings`] : all;
}
