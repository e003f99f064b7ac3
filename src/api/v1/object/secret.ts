// A Secret: bytes by key. No message contains any of its content. k8s: ValidateSecret

import type { Node, Place } from "../../decode/field-reader.ts";
import { converted, fieldOf, objectType, string, text, type ObjectOf } from "../../schema/codec.ts";
import type { JsonSchema, Type } from "../../schema/type.ts";
import { base64OfBytes, bytesOfBase64 } from "../../validation/base64.ts";
import { BASE64_SCHEMA, KEYS_SCHEMA } from "../../validation/name-schemas.ts";
import { configKeyError } from "../../validation/reference-rules.ts";
import { isJsonObject } from "../../../lib/json.ts";
import { MAX_DATA_BYTES, checkSize, immutable } from "./config-map.ts";
import { objectHead } from "../metadata.ts";

const OPAQUE = "Opaque";
/** Types that only an API server can serve. */
const NEEDS_API_SERVER: readonly string[] = [
  "kubernetes.io/service-account-token",
  "bootstrap.kubernetes.io/token",
];
const REDACTED = "<secret contents redacted>";

type Data = Readonly<Record<string, Uint8Array>>;

/** Reports an error at a place whose value must not be shown. */
function redacted({ findings, path }: Place, message: string): undefined {
  findings.invalid(path, REDACTED, message);
}

/** Values by key; `bytesOf` of one text: undefined = invalid, which is reported with `error`. */
function content(
  bytesOf: (value: string) => Uint8Array | undefined,
  { error, schema }: { readonly error: string; readonly schema?: JsonSchema },
): Type<Data> {
  return {
    name: "map[string]string",
    read(at) {
      if (!isJsonObject(at.value)) return redacted(at, "must be an object");
      const entries = Object.entries(at.value).flatMap(([key, value]) => {
        const place = { ...at, path: [...at.path, key], value };
        const keyError = configKeyError(key);
        if (keyError !== undefined) at.findings.invalid(place.path, key, keyError);
        const written = secretText(place);
        if (written === undefined) return [];
        const bytes = bytesOf(written);
        if (bytes === undefined) redacted(place, error);
        return [[key, bytes ?? new Uint8Array()] as const];
      });
      return Object.fromEntries(entries);
    },
    write: (data) =>
      Object.fromEntries(Object.entries(data).map(([key, bytes]) => [key, base64OfBytes(bytes)])),
    schema: () => ({
      type: ["object", "null"],
      ...KEYS_SCHEMA,
      additionalProperties: { ...text.schema(), ...schema },
    }),
  };
}

/** As `text` reads it, without the value in any message. */
function secretText(at: Place): string | undefined {
  const { findings, path, value } = at;
  if (typeof value === "string") return value;
  if (value === null) return "";
  const word = typeof value === "boolean" ? findings.wordAt(path) : undefined;
  if (word === undefined)
    return redacted(at, `must be a string${typeof value === "object" ? "" : "; put it in quotes"}`);
  findings.warn(path, "Ignored", "an unquoted word is read as text here; put it in quotes");
  findings.rewrites.push({ path, text: word });
  return word;
}

const FIELDS = {
  ...objectHead("Secret"),
  type: string({
    about: "Opaque, or a type of Kubernetes, which requires certain keys.",
    default: OPAQUE,
    schema: { not: { enum: NEEDS_API_SERVER } },
  }),
  data: fieldOf(
    content(bytesOfBase64, {
      error: "must be base64; plain text belongs in stringData",
      schema: BASE64_SCHEMA,
    }),
  )({ about: "Bytes by key, in base64; at most 1 MiB.", default: {} }),
  stringData: fieldOf(content((value) => new TextEncoder().encode(value), { error: "" }))({
    about: "Text by key; takes precedence over data.",
    default: {},
  }),
  immutable,
};

export interface Secret {
  readonly kind: "Secret";
  readonly metadata: NonNullable<ObjectOf<typeof FIELDS>["metadata"]>;
  readonly type: string;
  /** Decoded; `stringData` is merged into it. */
  readonly data: Data;
  readonly immutable: boolean;
}

export const SECRET = converted(
  objectType("Secret", FIELDS, {
    check({ type, data, stringData }, root) {
      const merged = { ...data, ...stringData };
      checkSize(root, Object.values(merged));
      checkType(root, type, merged);
    },
  }),
  {
    to: ({ metadata, type, data, stringData, immutable: isImmutable }): Secret | undefined =>
      metadata && {
        kind: "Secret",
        metadata,
        type,
        data: { ...data, ...stringData },
        immutable: isImmutable,
      },
    from: (object: Secret) => ({ apiVersion: "v1", stringData: {}, ...object }),
  },
);

/** Types of Kubernetes guarantee certain keys; any other type belongs to the user. */
function checkType(root: Node, type: string, data: Data): void {
  switch (type) {
    case "kubernetes.io/service-account-token":
    case "bootstrap.kubernetes.io/token": {
      const message = `${type} needs a Kubernetes API server; use ${OPAQUE}`;
      root.findings.fail(["type"], "NeedsAPIServer", message);
      return;
    }
    case "kubernetes.io/dockerconfigjson":
      checkJson(root, data, ".dockerconfigjson");
      return;
    case "kubernetes.io/dockercfg":
      checkJson(root, data, ".dockercfg");
      return;
    case "kubernetes.io/basic-auth":
      // Either may be empty, and one of them is enough.
      if (Object.hasOwn(data, "username") || Object.hasOwn(data, "password")) return;
      requireKeys(root, {}, ["username", "password"]);
      return;
    case "kubernetes.io/ssh-auth":
      if ((data["ssh-privatekey"]?.length ?? 0) === 0) requireKeys(root, {}, ["ssh-privatekey"]);
      return;
    case "kubernetes.io/tls":
      requireKeys(root, data, ["tls.crt", "tls.key"]);
      return;
  }
}

function requireKeys(root: Node, data: Data, keys: readonly string[]): void {
  for (const key of keys) if (!Object.hasOwn(data, key)) root.findings.required(["data", key]);
}

function checkJson(root: Node, data: Data, key: string): void {
  const bytes = data[key];
  if (bytes === undefined) requireKeys(root, data, [key]);
  // A longer one is refused for its size, and parsing it could cost hundreds of MiB.
  else if (bytes.length <= MAX_DATA_BYTES && !isJsonText(bytes))
    redacted({ ...root, path: ["data", key] }, "must be a JSON object");
}

/** Of an object. */
function isJsonText(bytes: Uint8Array): boolean {
  try {
    return isJsonObject(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    // The parser's message would show content.
    return false;
  }
}
