// Which client manages an object. Of each object there is one: who has written all of it last. k8s: managedFields

import { LAST_APPLIED } from "../../../api/v1/metadata.ts";
import { canonicalJson, isJsonObject, type JsonObject } from "../../../lib/json.ts";
import type { StatusCause } from "../kube-status.ts";
import { memberOf } from "../object-meta.ts";

export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  /** RFC 3339. */
  readonly time: string;
}

/** undefined = the file names none: a person has edited it. */
function managerOf(object: JsonObject): Manager | undefined {
  const { managedFields } = memberOf(object, "metadata");
  const [entry] = Array.isArray(managedFields) ? (managedFields as readonly unknown[]) : [];
  if (!isJsonObject(entry)) return undefined;
  const { manager, operation, time } = entry;
  if (typeof manager !== "string" || typeof time !== "string") return undefined;
  return { name: manager, operation: operation === "Apply" ? "Apply" : "Update", time };
}

/** The object with its manager in `metadata.managedFields`. */
export function withManager(object: JsonObject, { name, operation, time }: Manager): JsonObject {
  const { kind: _kind, apiVersion: _version, ...content } = object;
  const metadata = memberOf(object, "metadata");
  const { name: _name, namespace: _namespace, ...labels } = metadata;
  const fields = fieldsOf({ ...content, metadata: labels });
  const entry = {
    manager: name,
    operation,
    apiVersion: "v1",
    time,
    fieldsType: "FieldsV1",
    fieldsV1: isJsonObject(fields) ? fields : {},
  };
  return { ...object, metadata: { ...metadata, managedFields: [entry] } };
}

export function withoutManager(object: JsonObject): JsonObject {
  const { managedFields: _fields, ...metadata } = memberOf(object, "metadata");
  return { ...object, metadata };
}

/** k8s: FieldsV1. Lists count as a whole. */
function fieldsOf(value: unknown): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, member]) => key !== "metadata" || !isEmpty(member))
      .map(([key, member]) => [`f:${key}`, fieldsOf(member)]),
  );
}

function isEmpty(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

export type TakeOver =
  /** The file has it already, and the same manager. */
  | { readonly type: "Same"; readonly object: JsonObject }
  | { readonly type: "Changed"; readonly object: JsonObject }
  | { readonly type: "Conflict"; readonly causes: readonly StatusCause[] };

interface TakeOverOptions {
  readonly manager: Manager;
  /** Of an apply: also what another manager has written. */
  readonly force: boolean;
}

/** `before`: as its file has it; undefined = there is none. `wanted` is without a manager. */
export function takeOver(
  before: JsonObject | undefined,
  wanted: JsonObject,
  { manager, force }: TakeOverOptions,
): TakeOver {
  const own = before === undefined ? undefined : managerOf(before);
  const was = before === undefined ? undefined : withoutManager(before);
  const isApply = manager.operation === "Apply";
  if (isApply && was !== undefined && !force) {
    const causes = applyConflicts(was, wanted, { manager: manager.name, own });
    if (causes.length > 0) return { type: "Conflict", causes };
  }
  const isSame = was !== undefined && canonicalJson(was) === canonicalJson(wanted);
  const isOwn = own?.name === manager.name && own.operation === manager.operation;
  // An update that changes nothing takes nothing over.
  if (isSame && own !== undefined && (isOwn || !isApply))
    return { type: "Same", object: withManager(wanted, own) };
  return { type: "Changed", object: withManager(wanted, manager) };
}

/** Fields named in one refusal. */
const MAX_CONFLICTS = 20;

/** Why `manager` may not apply `wanted` over `present`; [] = it may. Both objects are without their managers. */
function applyConflicts(
  present: JsonObject,
  wanted: JsonObject,
  { manager, own }: { readonly manager: string; readonly own: Manager | undefined },
): readonly StatusCause[] {
  if (own === undefined || own.name === manager) return [];
  // k8s: LastAppliedManager
  if (manager === "kubectl" && own.name === "kubectl-client-side-apply") return [];
  return changedFields(withoutCopy(present), withoutCopy(wanted), "")
    .slice(0, MAX_CONFLICTS)
    .map((field) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${JSON.stringify(own.name)} using v1`,
      field,
    }));
}

/** kubectl's copy of an object is nothing that another manager can want. */
function withoutCopy(object: JsonObject): JsonObject {
  const metadata = memberOf(object, "metadata");
  const { [LAST_APPLIED]: _copy, ...others } = memberOf(metadata, "annotations");
  const { annotations: _annotations, ...rest } = metadata;
  const annotations = Object.keys(others).length === 0 ? {} : { annotations: others };
  return { ...object, metadata: { ...rest, ...annotations } };
}

/** `.spec.containers[name="web"].image`. */
function changedFields(before: unknown, after: unknown, path: string): readonly string[] {
  if (canonicalJson(before) === canonicalJson(after)) return [];
  const [was, is] = [membersOf(before), membersOf(after)];
  if (was === undefined || is === undefined) return [path === "" ? "." : path];
  const steps = [...new Set([...was.keys(), ...is.keys()])].toSorted();
  return steps.flatMap((step) => changedFields(was.get(step), is.get(step), path + step));
}

/** By its step in a path; undefined = there is nothing below. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (isJsonObject(value))
    return new Map(Object.entries(value).map(([key, member]) => [`.${key}`, member]));
  if (!Array.isArray(value)) return undefined;
  const items = value as readonly unknown[];
  const names = items.map((item) => (isJsonObject(item) ? item["name"] : undefined));
  const isNamed = names.every((name) => typeof name === "string");
  if (!isNamed || new Set(names).size !== names.length) return undefined;
  return new Map(items.map((item, index) => [`[name=${JSON.stringify(names[index])}]`, item]));
}

/** k8s: NewConflictError */
export function conflictMessage(causes: readonly StatusCause[]): string {
  const [first] = causes;
  if (causes.length === 1 && first !== undefined)
    return `Apply failed with 1 conflict: ${first.message}: ${first.field}`;
  const lines = causes.map(({ message, field }) => `\n- ${message}: ${field}`);
  return `Apply failed with ${causes.length} conflicts:${lines.join("")}`;
}
