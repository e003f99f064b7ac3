// metadata as written → name, namespace, labels, annotations. The uid is never read: `pod-identity` makes it.

import { DEFAULT_NAMESPACE } from "./defaults.ts";
import {
  checkFields,
  invalid,
  invalidMessage,
  invalidValue,
  isUnwritten,
  required,
  stringField,
  stringMap,
  type Node,
} from "./field-reader.ts";
import { METADATA } from "../schema/objects.ts";
import { annotationErrors } from "../pod/pod-annotations.ts";
import type { ObjectMeta } from "../v1/pod.ts";
import {
  dnsLabelError,
  dnsSubdomainError,
  isTooLong,
  labelValueError,
  qualifiedNameError,
  subdomainNameError,
} from "../validation/validate-names.ts";

/** Bytes of all annotation keys and values. k8s: TotalAnnotationSizeLimitB */
const MAX_ANNOTATION_BYTES = 256 * 1024;

export function decodeMetadata(node: Node): Omit<ObjectMeta, "uid"> {
  checkFields(node, METADATA);
  const name = podNameField(node);
  const namespace = namespaceField(node);
  const labels = labelsField(node);
  const annotations = annotationsField(node);
  for (const { key, value, message } of annotationErrors({ name, namespace, annotations }))
    node.findings.fail(
      [...node.path, "annotations", key],
      "Invalid",
      invalidMessage(value, message),
    );
  return { name, namespace, labels, annotations };
}

export type ObjectMetadata = Omit<ObjectMeta, "uid">;

/** Of a ConfigMap, Secret or claim: its name may be as long as Kubernetes lets it be, and our annotations mean nothing. */
export function decodeObjectMetadata(node: Node): ObjectMetadata {
  checkFields(node, METADATA);
  const name = stringField(node, "name") ?? "";
  if (isUnwritten(node, "name")) required(node, "name");
  const error = name === "" ? undefined : subdomainNameError(name);
  if (error !== undefined) invalid(node, "name", error);
  return {
    name,
    namespace: namespaceField(node),
    labels: labelsField(node),
    annotations: annotationsField(node),
  };
}

function podNameField(node: Node): string {
  const name = stringField(node, "name") ?? "";
  if (name === "") {
    if (isUnwritten(node, "name")) required(node, "name");
    return name;
  }
  const error = dnsSubdomainError(name);
  if (error !== undefined) invalid(node, "name", error);
  if (isTooLong(name)) tooLong(node, "name");
  return name;
}

function namespaceField(node: Node): string {
  const written = stringField(node, "namespace");
  const namespace = written === undefined || written === "" ? DEFAULT_NAMESPACE : written;
  if (isTooLong(namespace)) tooLong(node, "namespace");
  const error = isTooLong(namespace) ? undefined : dnsLabelError(namespace);
  if (error !== undefined) invalid(node, "namespace", error);
  return namespace;
}

function tooLong(node: Node, key: string): void {
  const message = invalidValue(node.value[key], "must be no more than 63 characters");
  node.findings.fail([...node.path, key], "NameTooLong", message);
}

function labelsField(node: Node): Readonly<Record<string, string>> {
  const labels = stringMap(node, "labels");
  for (const [key, value] of Object.entries(labels)) {
    const path = [...node.path, "labels", key];
    const keyError = qualifiedNameError(key);
    const valueError = labelValueError(value);
    if (keyError !== undefined) node.findings.fail(path, "Invalid", invalidValue(key, keyError));
    if (valueError !== undefined)
      node.findings.fail(path, "Invalid", invalidValue(value, valueError));
  }
  return labels;
}

function annotationsField(node: Node): Readonly<Record<string, string>> {
  const annotations = stringMap(node, "annotations");
  const encoder = new TextEncoder();
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    const path = [...node.path, "annotations", key];
    const error = qualifiedNameError(key.toLowerCase());
    bytes += encoder.encode(key).length + encoder.encode(value).length;
    if (error !== undefined) node.findings.fail(path, "Invalid", invalidValue(key, error));
  }
  if (bytes > MAX_ANNOTATION_BYTES) {
    const message = `Too long: all annotations together have ${bytes} bytes; at most ${MAX_ANNOTATION_BYTES} are allowed`;
    node.findings.fail([...node.path, "annotations"], "Invalid", message);
  }
  return annotations;
}
