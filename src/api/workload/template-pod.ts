// The pod of a workload, as its author would have written it by hand, and where its fields stand in the workload.

import type { FieldPath, Locate } from "../decode/field-path.ts";
import { UNKNOWN_FIELDS } from "../pod/pod-annotations.ts";
import { isJsonObject, memberOf, type JsonObject } from "../../lib/json.ts";
import type { FieldError } from "../../lib/result.ts";

/** `apps/v1 Deployment web`: the workload of which the agent has made a pod. */
export const OWNER_ANNOTATION = "agent/owner";

export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The workload's own `agent/unknown-fields` also holds for its pods. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface PodPlan {
  readonly name: string;
  /** Added to the template's, which they outrank. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** What the workload itself sets in the spec. */
  readonly spec?: (spec: JsonObject) => JsonObject;
}

/** A pod as written. What is no object in the template stays as it is, so that reading reports it. */
export function podOf(template: JsonObject, owner: Owner, plan: PodPlan): JsonObject {
  const { metadata, spec } = template;
  const own = isJsonObject(metadata) ? metadata : {};
  const unknown = owner.annotations[UNKNOWN_FIELDS];
  const inherited = unknown === undefined ? {} : { [UNKNOWN_FIELDS]: unknown };
  const identity = `${owner.apiVersion} ${owner.kind} ${owner.name}`;
  const annotations = {
    ...inherited,
    ...membersOf(own, "annotations"),
    ...plan.annotations,
    [OWNER_ANNOTATION]: identity,
  };
  const labels = { ...membersOf(own, "labels"), ...plan.labels };
  const isOdd = (key: string): boolean => !isJsonObject(own[key] ?? {});
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...own,
      name: plan.name,
      namespace: owner.namespace,
      labels: isOdd("labels") ? own["labels"] : labels,
      annotations: isOdd("annotations") ? own["annotations"] : annotations,
    },
    spec: isJsonObject(spec) ? (plan.spec?.(spec) ?? spec) : spec,
  };
}

function membersOf(value: JsonObject, key: string): JsonObject {
  const members = memberOf(value, key);
  return isJsonObject(members) ? members : {};
}

/** Fields of the pod that the workload's own metadata determines. */
const OWN_FIELDS: ReadonlySet<unknown> = new Set(["name", "namespace"]);

/** Finds the fields of the pod in the text of the workload; `template`: the path of the template. */
export function locateIn(locate: Locate | undefined, template: FieldPath): Locate | undefined {
  return (
    locate &&
    ((path) => {
      const isOwn = path[0] === "metadata" && (path.length === 1 || OWN_FIELDS.has(path[1]));
      return locate(isOwn ? path : [...template, ...path]);
    })
  );
}

/** An error of the pod as one of the workload. */
export function placeInTemplate(error: FieldError, template: string): FieldError {
  const isOwn = /^metadata\.(name|namespace)$/.test(error.path);
  if (isOwn) return error;
  return { ...error, path: error.path === "" ? template : `${template}.${error.path}` };
}
