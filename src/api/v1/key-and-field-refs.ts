// References to keys of ConfigMaps and Secrets, and to a pod's own fields. k8s: validateObjectFieldSelector, validateKeyToPath

import type { Message } from "../decode/field-errors.ts";
import { invalidAt, type Place } from "../decode/field-reader.ts";
import {
  boolean,
  converted,
  fieldOf,
  textField,
  integer,
  judged,
  objectType,
  string,
  text,
  type Decoded,
} from "../schema/codec.ts";
import type { Field, Type } from "../schema/type.ts";
import { quantity, textOf, unless, within } from "../schema/values.ts";
import { CONFIG_KEY_FORM, filePathError, tidyPath } from "../validation/keys-and-paths.ts";
import {
  CLIMBING_PATH,
  DNS_LABEL_FORM,
  ENV_NAME_FORM,
  qualifiedNameError,
  SUBDOMAIN_FORM,
} from "../validation/validate-names.ts";

/** Which object holds a reference to the pod's own fields: not every field is available in both. */
export type ReferencePlace = "env" | "volume";

/** The required name of an object that the pod refers to. */
export function objectName(kind: string): Field<string> {
  const about = `Name of a ${kind} in the pod's namespace.`;
  return textField(textOf(SUBDOMAIN_FORM))({ about, required: true });
}

function configKey(about: string): Field<string> {
  return textField(textOf(CONFIG_KEY_FORM))({ about, required: true });
}

function keySelectorType(kind: "ConfigMap" | "Secret") {
  return objectType(`${kind}KeySelector`, {
    name: objectName(kind),
    key: configKey("Key whose value is used."),
    optional: boolean({
      about: `Start the container without the variable while the ${kind} or the key is missing.`,
      default: false,
    }),
  });
}

export const CONFIG_MAP_KEY = keySelectorType("ConfigMap");
export const SECRET_KEY = keySelectorType("Secret");
/** One key of a ConfigMap or a Secret. */
export type KeySelector = Decoded<typeof SECRET_KEY>;

/** A path that is wrong is kept as it is; any other is read without empty names and `.`. */
const FILE_PATH: Type<string> = {
  ...text,
  read(at) {
    const path = text.read(at);
    if (path === undefined) return undefined;
    const error = filePathError(path);
    if (error === undefined) return tidyPath(path);
    invalidAt(at, error);
    return path;
  },
  // Neither absolute, nor beginning with "..", nor with ".." as a part, nor ending in "/" or ".".
  schema: () => ({
    ...text.schema(),
    not: { type: "string", pattern: `^/|^\\.\\.|${CLIMBING_PATH}|(^|/)\\.?$` },
  }),
};

export const filePath = textField(FILE_PATH)({
  about: "Relative path of the file inside the volume, without `..`.",
  required: true,
});

const MAX_FILE_KEY = 128;

export const FILE_KEY = objectType("FileKeySelector", {
  volumeName: textField(textOf(DNS_LABEL_FORM))({
    about: "Name of an emptyDir volume of the pod. The container need not mount it.",
    required: true,
  }),
  path: filePath,
  key: textField(
    textOf({
      check: (key) =>
        key.length > MAX_FILE_KEY
          ? `must be no more than ${MAX_FILE_KEY} characters`
          : ENV_NAME_FORM.check(key),
      schema: { ...ENV_NAME_FORM.schema, maxLength: MAX_FILE_KEY },
    }),
  )({
    about: "Name in the file, whose lines are NAME='value'. The first of equal names counts.",
    required: true,
  }),
  optional: boolean({
    about: "Start the container without the variable while the file or the key is missing.",
    default: false,
  }),
});
/** One variable of a file in a volume. */
export type FileKeySelector = Decoded<typeof FILE_KEY>;

/** 0777 */
const MAX_MODE = 511;

/** Permission bits of a file. k8s: fileModeErrorMsg */
export function fileMode(about: string, byDefault: number): Field<number>;
export function fileMode(about: string): Field<number | undefined>;
export function fileMode(about: string, byDefault?: number): Field<number | undefined> {
  const message = "must be a number between 0 and 0777 (octal), both inclusive";
  const options = { about, ...within(0, MAX_MODE, message) };
  return integer(byDefault === undefined ? options : { ...options, default: byDefault });
}

/** A key and the file that it becomes. k8s: validateKeyToPath */
export const KEY_TO_PATH = objectType("KeyToPath", {
  key: configKey("Key whose value becomes the file."),
  path: filePath,
  mode: fileMode("Permissions of this file, 0 to 0777. Default: the volume's defaultMode."),
});
export type KeyToPath = Decoded<typeof KEY_TO_PATH>;

const PLAIN_FIELDS = ["metadata.name", "metadata.namespace", "metadata.uid"] as const;
const ENV_ONLY_FIELDS = [
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
] as const;
const VOLUME_ONLY_FIELDS = ["metadata.annotations", "metadata.labels"] as const;

/** A field of the pod without a key in brackets. */
export type PlainField =
  | (typeof PLAIN_FIELDS)[number]
  | (typeof ENV_ONLY_FIELDS)[number]
  | (typeof VOLUME_ONLY_FIELDS)[number];

const FIELDS_OF: Readonly<Record<ReferencePlace, readonly PlainField[]>> = {
  env: [...PLAIN_FIELDS, ...ENV_ONLY_FIELDS],
  volume: [...VOLUME_ONLY_FIELDS, ...PLAIN_FIELDS],
};
/** Each of them, wherever it is available. */
export const PLAIN_POD_FIELDS: readonly PlainField[] = [...FIELDS_OF.env, ...VOLUME_ONLY_FIELDS];

export interface Subscripted {
  readonly path: string;
  readonly key: string;
}

/** `metadata.labels['x']` in its two parts; undefined for a path without a key. */
export function splitSubscript(fieldPath: string): Subscripted | undefined {
  if (!fieldPath.endsWith("']")) return undefined;
  const start = fieldPath.indexOf("['");
  if (start < 1) return undefined;
  return { path: fieldPath.slice(0, start), key: fieldPath.slice(start + 2, -2) };
}

/** The name of `spec.nodeName` in the first versions of v1. k8s: ConvertDownwardAPIFieldLabel */
const FORMER_NODE_NAME = "spec.host";

function fieldPathType(place: ReferencePlace): Type<string> {
  const choices = FIELDS_OF[place];
  const path = converted(text, {
    to: (written) => (written === FORMER_NODE_NAME ? "spec.nodeName" : written),
    from: (value: string) => value,
  });
  return {
    ...judged(path, (value, at) => judgeFieldPath(value, choices, at)),
    schema: () => ({
      ...text.schema(),
      anyOf: [
        { enum: place === "env" ? [...choices, FORMER_NODE_NAME] : choices },
        { pattern: "^metadata\\.(labels|annotations)\\['.+'\\]$" },
      ],
    }),
  };
}

function judgeFieldPath(fieldPath: string, choices: readonly string[], at: Place): void {
  const subscripted = splitSubscript(fieldPath);
  if (subscripted === undefined) {
    if (!choices.includes(fieldPath)) at.findings.unsupported(at.path, fieldPath, choices);
    return;
  }
  const error = subscriptError(subscripted);
  if (error !== undefined) invalidAt(at, error);
}

function subscriptError({ path, key }: Subscripted): string | undefined {
  if (path === "metadata.labels") return qualifiedNameError(key);
  if (path === "metadata.annotations") return qualifiedNameError(key.toLowerCase());
  return `${path} does not support subscript`;
}

function fieldRefType(place: ReferencePlace) {
  const fields = objectType("ObjectFieldSelector", {
    apiVersion: string({
      about: "Version of the API in which fieldPath is written.",
      default: "v1",
      check: (version) => (version === "v1" ? undefined : 'must be "v1"'),
      schema: { enum: ["v1", "", null] },
    }),
    fieldPath: textField(fieldPathType(place))({
      about: `Field of the pod: ${FIELDS_OF[place].join(", ")}, metadata.labels['KEY'] or metadata.annotations['KEY'].`,
      required: true,
    }),
  });
  return converted(fields, {
    to: ({ fieldPath }) => ({ fieldPath }),
    from: ({ fieldPath }: { readonly fieldPath: string }) => ({ apiVersion: "v1", fieldPath }),
  });
}

/** `fieldRef`, where it may be written. */
export const FIELD_REF = { env: fieldRefType("env"), volume: fieldRefType("volume") };

const RESOURCES: readonly string[] = ["limits", "requests"].flatMap((kind) =>
  ["cpu", "ephemeral-storage", "memory"].map((resource) => `${kind}.${resource}`),
);
const CPU_DIVISORS: readonly string[] = ["1m", "1"];
const BYTE_DIVISORS: readonly string[] = "1 1k 1M 1G 1T 1P 1E 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei".split(" ");

const HUGE_PAGES = /^(limits|requests)\.hugepages-./;

const RESOURCE: Type<string> = {
  ...judged(text, (resource, { findings, path }) => {
    if (RESOURCES.includes(resource) || HUGE_PAGES.test(resource)) return;
    findings.unsupported(path, resource, RESOURCES);
  }),
  schema: () => ({
    ...text.schema(),
    anyOf: [{ enum: RESOURCES }, { pattern: HUGE_PAGES.source }],
  }),
};

function divisorError(divisor: string, resource: unknown): Message | undefined {
  const name = typeof resource === "string" ? resource : "";
  const known = name.endsWith(".cpu") ? CPU_DIVISORS : BYTE_DIVISORS;
  if (known.includes(divisor)) return undefined;
  const kind = name.replace(/^(limits|requests)\./, "");
  const values = known === CPU_DIVISORS ? "1m and 1" : known.join(", ");
  return `only divisor's values ${values} are supported with ${kind}`;
}

const CONTAINER_NAME = "Name of the container whose limit or request is used.";

function resourceFieldRefType<F extends Field<string> | Field<string | undefined>>(
  containerName: F,
) {
  return objectType("ResourceFieldSelector", {
    containerName,
    resource: textField(RESOURCE)({
      about: `Limit or request: ${RESOURCES.join(", ")}, limits.hugepages-SIZE or requests.hugepages-SIZE.`,
      required: true,
    }),
    divisor: fieldOf(unless(quantity, "0"))({
      about:
        "Unit of the result, such as 1m for cpu or 1Mi for bytes; the result is rounded up. Default: 1.",
      check: (divisor, { value }) => divisorError(divisor, value["resource"]),
    }),
  });
}

/** `resourceFieldRef`, where it may be written: a volume belongs to no container. */
export const RESOURCE_FIELD_REF = {
  env: resourceFieldRefType(string({ about: `${CONTAINER_NAME} Default: this container.` })),
  volume: resourceFieldRefType(string({ about: CONTAINER_NAME, required: true })),
};
export type ResourceFieldRef = Decoded<typeof RESOURCE_FIELD_REF.env>;
