// What every object has: version, kind, name, namespace, labels and annotations. The uid is never read: `pod-identity` makes it.

import { invalidValue } from "../decode/field-errors.ts";
import { invalid, type Node } from "../decode/field-reader.ts";
import { harmless } from "../decode/field-rules.ts";
import {
  fieldOf,
  map,
  objectType,
  string,
  text,
  unreadFields,
  type ObjectOf,
} from "../schema/codec.ts";
import { isJsonObject } from "../../lib/json.ts";
import type { Field, JsonSchema } from "../schema/type.ts";
import { ANNOTATION_SCHEMAS } from "../pod/pod-annotations.ts";
import {
  ANNOTATION_NAME_SCHEMA,
  DNS_LABEL_FORM,
  dnsLabelError,
  dnsSubdomainError,
  isTooLong,
  MAX_NAME,
  MAX_SUBDOMAIN,
  qualifiedNameError,
  SUBDOMAIN_FORM,
  subdomainNameError,
} from "../validation/validate-names.ts";
import { labels } from "./scheduling.ts";
import { byteLength } from "../../lib/short-text.ts";

const DEFAULT_NAMESPACE = "default";
/** Bytes of all annotation keys and values. k8s: TotalAnnotationSizeLimitB */
const MAX_ANNOTATION_BYTES = 256 * 1024;

function nameField(maxLength: number): Field<string> {
  return string({
    about: `Name of the object, unique in its namespace among objects of its kind. At most ${maxLength} characters.`,
    required: true,
    schema: { ...SUBDOMAIN_FORM.schema, maxLength },
  });
}

function annotationsField(about: string, properties: JsonSchema) {
  return map(text, {
    about,
    key: (key) => qualifiedNameError(key.toLowerCase()),
    schema: { propertyNames: ANNOTATION_NAME_SCHEMA, properties },
  });
}

const METADATA_FIELDS = {
  name: nameField(MAX_SUBDOMAIN),
  namespace: string({
    about: "Namespace of the object.",
    default: DEFAULT_NAMESPACE,
    schema: DNS_LABEL_FORM.schema,
  }),
  labels: labels("Key-value pairs for selecting and grouping. A change restarts nothing."),
  annotations: annotationsField(
    "Key-value pairs for tools. This node reads agent/unknown-fields.",
    {},
  ),
  // Written by `kubectl get -o yaml`; means nothing to this node.
  ...unreadFields(harmless, {
    generateName: ["string", "Prefix of a name that an API server generates."],
    uid: ["string", "Set by an API server. This node derives its own from the manifest."],
    creationTimestamp: ["Time", "When an API server created the object."],
    deletionTimestamp: ["Time", "When an API server will remove the object."],
    deletionGracePeriodSeconds: ["integer", "Grace period that an API server gives a removal."],
    resourceVersion: ["string", "Version of the object inside an API server."],
    generation: ["integer", "How often the spec changed inside an API server."],
    managedFields: ["[]ManagedFieldsEntry", "Which tool wrote which field."],
    ownerReferences: ["[]OwnerReference", "Objects that own this one."],
    finalizers: ["[]string", "Controllers that an API server waits for before a removal."],
    selfLink: ["string", "Former address of the object in an API server."],
  }),
};
type WrittenMetadata = ObjectOf<typeof METADATA_FIELDS>;

const POD_FIELDS = {
  ...METADATA_FIELDS,
  name: nameField(MAX_NAME),
  annotations: annotationsField(
    `Key-value pairs for tools and for this node, which reads ${Object.keys(ANNOTATION_SCHEMAS).join(", ")}.`,
    ANNOTATION_SCHEMAS,
  ),
};

export const POD_METADATA = objectType("ObjectMeta", POD_FIELDS, {
  check(metadata, node) {
    const { name } = metadata;
    const error = name === "" ? undefined : dnsSubdomainError(name);
    if (error !== undefined) invalid(node, "name", error);
    if (isTooLong(name)) tooLong(node, "name");
    checkMetadata(metadata, node);
  },
});

/** Of a ConfigMap, Secret or claim: a longer name is valid, and the agent's annotations mean nothing. */
const OBJECT_METADATA = objectType("ObjectMeta", METADATA_FIELDS, {
  check(metadata, node) {
    const error = metadata.name === "" ? undefined : subdomainNameError(metadata.name);
    if (error !== undefined) invalid(node, "name", error);
    checkMetadata(metadata, node);
  },
});

function checkMetadata({ namespace, annotations }: WrittenMetadata, node: Node): void {
  const error = isTooLong(namespace) ? undefined : dnsLabelError(namespace);
  if (isTooLong(namespace)) tooLong(node, "namespace");
  if (error !== undefined) invalid(node, "namespace", error);
  const bytes = Object.entries(annotations)
    .flat()
    .reduce((sum, one) => sum + byteLength(one), 0);
  if (bytes <= MAX_ANNOTATION_BYTES) return;
  const message = `Too long: all annotations together have ${bytes} bytes; at most ${MAX_ANNOTATION_BYTES} are allowed`;
  node.findings.fail([...node.path, "annotations"], "Invalid", message);
}

function tooLong(node: Node, key: string): void {
  const message = invalidValue(node.value[key], "must be no more than 63 characters");
  node.findings.fail([...node.path, key], "NameTooLong", message);
}

/** The two fields that name the type of every object. */
export function typeFields(kind: string, apiVersion = "v1") {
  return {
    apiVersion: string({
      about: `Version of the API: ${apiVersion}.`,
      required: JSON.stringify(apiVersion),
      check: (version) =>
        version === apiVersion ? undefined : `must be ${JSON.stringify(apiVersion)}`,
      schema: { const: apiVersion },
    }),
    kind: string({
      about: `Kind of the object: ${kind}.`,
      default: "",
      marked: true,
      schema: { const: kind },
    }),
  };
}

/** kubectl's copy of the whole object, a Secret's content included. */
export const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Read without kubectl's copy of the object, so that no message shows any of it. */
const LOCAL_METADATA: typeof OBJECT_METADATA = {
  ...OBJECT_METADATA,
  read: (at) => OBJECT_METADATA.read({ ...at, value: withoutCopy(at.value) }),
};

function withoutCopy(metadata: unknown): unknown {
  if (!isJsonObject(metadata)) return metadata;
  const written = metadata["annotations"];
  // A slip of the pen in that line makes a text of all annotations.
  if (typeof written === "string" && written !== "")
    return { ...metadata, annotations: "<annotations redacted>" };
  if (!isJsonObject(written)) return metadata;
  const { [LAST_APPLIED]: _copy, ...annotations } = written;
  return { ...metadata, annotations };
}

const NO_METADATA = { name: "", namespace: DEFAULT_NAMESPACE, labels: {}, annotations: {} };
const localMetadata = fieldOf(LOCAL_METADATA, NO_METADATA);

/** The fields that every local object, and every workload, begins with. */
export function objectHead(kind: string, apiVersion?: string) {
  const about = "Name, namespace, labels and annotations.";
  return { ...typeFields(kind, apiVersion), metadata: localMetadata({ about, required: true }) };
}
