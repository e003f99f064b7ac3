// References to local objects and to the pod's own fields, as written → typed. k8s: validateObjectFieldSelector and its like

import { quantityField } from "../container/decode-resources.ts";
import { splitSubscript } from "../../pod/downward.ts";
import {
  booleanField,
  checkFields,
  integerField,
  invalid,
  placeOf,
  isUnwritten,
  objectList,
  required,
  stringField,
  unsupported,
  type Node,
} from "../field-reader.ts";
import {
  configKeyError,
  filePathError,
  modeError,
  tidyPath,
} from "../../validation/reference-rules.ts";
import type { FieldRef, KeySelector, KeyToPath, ResourceFieldRef } from "../../v1/references.ts";
import { FIELD_REF, RESOURCE_FIELD_REF } from "../../schema/environment.ts";
import type { Level } from "../../schema/field.ts";
import { KEY_TO_PATH } from "../../schema/projections.ts";
import { qualifiedNameError, subdomainNameError } from "../../validation/validate-names.ts";

const RESOURCES: readonly string[] = ["limits", "requests"].flatMap((kind) =>
  ["cpu", "ephemeral-storage", "memory"].map((resource) => `${kind}.${resource}`),
);
const CPU_DIVISORS: readonly string[] = ["1m", "1"];
const BYTE_DIVISORS: readonly string[] = "1 1k 1M 1G 1T 1P 1E 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei".split(" ");

/** The name of a ConfigMap, Secret or claim; "" if there is none to be read. */
export function referenceName(node: Node, key = "name"): string {
  const name = stringField(node, key) ?? "";
  // Something that is no text has been told.
  if (name === "" && isUnwritten(node, key)) required(node, key);
  const error = name === "" ? undefined : subdomainNameError(name);
  if (error !== undefined) invalid(node, key, error);
  return name;
}

/** `configMapKeyRef` and `secretKeyRef`. */
export function decodeKeySelector(node: Node, level: Level): KeySelector {
  checkFields(node, level);
  return {
    name: referenceName(node),
    key: configKeyField(node, "key"),
    optional: booleanField(node, "optional") ?? false,
  };
}

/** `fields` are the paths without a key that may stand here. */
export function decodeFieldRef(node: Node, fields: readonly string[]): FieldRef {
  checkFields(node, FIELD_REF);
  const version = stringField(node, "apiVersion") ?? "";
  if (version !== "" && version !== "v1") invalid(node, "apiVersion", 'must be "v1"');
  const written = stringField(node, "fieldPath") ?? "";
  if (written === "" && isUnwritten(node, "fieldPath")) required(node, "fieldPath");
  // What it was called in the first versions of v1. k8s: ConvertDownwardAPIFieldLabel
  const fieldPath = written === "spec.host" ? "spec.nodeName" : written;
  if (fieldPath !== "") judgeFieldPath(node, fieldPath, fields);
  return { fieldPath };
}

function judgeFieldPath(node: Node, text: string, fields: readonly string[]): void {
  const key = "fieldPath";
  const subscripted = splitSubscript(text);
  if (subscripted === undefined) {
    if (!fields.includes(text)) unsupported(placeOf(node, key), { text, choices: fields });
    return;
  }
  if (subscripted.path !== "metadata.labels" && subscripted.path !== "metadata.annotations") {
    invalid(node, key, `${subscripted.path} does not support subscript`);
    return;
  }
  const isLabel = subscripted.path === "metadata.labels";
  const error = qualifiedNameError(isLabel ? subscripted.key : subscripted.key.toLowerCase());
  if (error !== undefined) invalid(node, key, error);
}

export function decodeResourceFieldRef(node: Node, place: "env" | "volume"): ResourceFieldRef {
  checkFields(node, RESOURCE_FIELD_REF);
  const containerName = stringField(node, "containerName") ?? "";
  if (containerName === "" && place === "volume" && isUnwritten(node, "containerName"))
    required(node, "containerName");
  const resource = stringField(node, "resource") ?? "";
  if (resource === "" && isUnwritten(node, "resource")) required(node, "resource");
  const known = RESOURCES.includes(resource) || isHugePages(resource);
  if (resource !== "" && !known)
    unsupported(placeOf(node, "resource"), { text: resource, choices: RESOURCES });
  const divisor = divisorField(node, resource);
  return {
    ...(containerName === "" ? {} : { containerName }),
    resource,
    ...(divisor === undefined ? {} : { divisor }),
  };
}

function divisorField(node: Node, resource: string): string | undefined {
  const divisor = quantityField(node, "divisor");
  if (divisor === undefined || divisor === "0") return undefined;
  const known = resource.endsWith(".cpu") ? CPU_DIVISORS : BYTE_DIVISORS;
  if (known.includes(divisor)) return divisor;
  const kind = resource.replace(/^(limits|requests)\./, "");
  const values = known === CPU_DIVISORS ? "1m and 1" : known.join(", ");
  invalid(node, "divisor", `only divisor's values ${values} are supported with ${kind}`);
  return undefined;
}

function isHugePages(resource: string): boolean {
  return /^(limits|requests)\.hugepages-./.test(resource);
}

/** Keys and the files they become; paths come out tidy. k8s: validateKeyToPath */
export function decodeItems(node: Node): readonly KeyToPath[] {
  return objectList(node, "items").map((item) => {
    checkFields(item, KEY_TO_PATH);
    const mode = modeField(item, "mode");
    return {
      key: configKeyField(item, "key"),
      path: filePathField(item, "path"),
      ...(mode === undefined ? {} : { mode }),
    };
  });
}

export function filePathField(node: Node, key: string): string {
  const path = stringField(node, key) ?? "";
  if (path === "" && isUnwritten(node, key)) required(node, key);
  const error = path === "" ? undefined : filePathError(path);
  if (error === undefined) return tidyPath(path);
  invalid(node, key, error);
  return path;
}

/** Permission bits. */
export function modeField(node: Node, key: string): number | undefined {
  const mode = integerField(node, key);
  const error = mode === undefined ? undefined : modeError(mode);
  if (error === undefined) return mode;
  invalid(node, key, error);
  return undefined;
}

function configKeyField(node: Node, name: string): string {
  const key = stringField(node, name) ?? "";
  if (key === "" && isUnwritten(node, name)) required(node, name);
  const error = key === "" ? undefined : configKeyError(key);
  if (error !== undefined) invalid(node, name, error);
  return key;
}
