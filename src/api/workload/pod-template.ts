// The template of a workload's pods: kept as written, because its pods are read as every other pod is.

import { invalidAt } from "../decode/field-reader.ts";
import { harmless } from "../decode/field-rules.ts";
import { fieldOf, objectType, unread } from "../schema/codec.ts";
import type { Type } from "../schema/type.ts";
import { POD_METADATA } from "../v1/metadata.ts";
import { POD_SPEC } from "../v1/pod-spec.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";

const METADATA = objectType("ObjectMeta", {
  ...POD_METADATA.level,
  name: unread("string", "The pods are named after the workload.", harmless),
  namespace: unread("string", "The pods are in the namespace of the workload.", harmless),
});

const FIELDS = objectType("PodTemplateSpec", {
  metadata: fieldOf(METADATA)({ about: "Labels and annotations of the pods." }),
  spec: fieldOf(POD_SPEC)({ about: "What runs, as in the spec of a Pod.", required: true }),
});

const TEMPLATE: Type<JsonObject> = {
  name: "PodTemplateSpec",
  read: (at) => (isJsonObject(at.value) ? at.value : invalidAt(at, "must be an object")),
  write: (template) => template,
  schema: (unknownFields) => FIELDS.schema(unknownFields),
};

export const podTemplate = fieldOf(TEMPLATE)({
  about: "The pod: labels and annotations in metadata, and spec as in a Pod (agent explain pod).",
  required: true,
});
