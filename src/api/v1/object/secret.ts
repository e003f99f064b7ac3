// A Secret: bytes by key. No message contains any of its content. k8s: ValidateSecret

import type { Node } from "../../decode/field-reader.ts";
import { converted, objectType, string, text, type ObjectOf } from "../../schema/codec.ts";
import type { Field } from "../../schema/type.ts";
import { isJsonObject, parseJson } from "../../../lib/json.ts";
import { base64, checkSize, content, immutable, MAX_DATA_BYTES } from "./config-map.ts";
import { objectHead } from "../metadata.ts";

const OPAQUE = "Opaque";
const REDACTED = "<secret contents redacted>";

type Data = Readonly<Record<string, Uint8Array>>;

/** A field whose values no message shows. */
function redacted<T>(field: Field<T>): Field<T> {
  return { ...field, read: (node, key) => field.read({ ...node, shown: REDACTED }, key) };
}

const TEXT_BYTES = converted(text, {
  to: (value) => new TextEncoder().encode(value),
  from: (bytes: Uint8Array) => new TextDecoder().decode(bytes),
});

const FIELDS = {
  ...objectHead("Secret"),
  type: string({
    about: "Opaque, or a type of Kubernetes, which requires certain keys.",
    default: OPAQUE,
  }),
  data: redacted(
    content(
      base64("must be base64; plain text belongs in stringData"),
      "Bytes by key, in base64; at most 1 MiB.",
    ),
  ),
  stringData: redacted(content(TEXT_BYTES, "Text by key; takes precedence over data.")),
  immutable,
};

type Fields = ObjectOf<typeof FIELDS>;
/** `stringData` is merged into its `data`. */
export interface Secret extends Omit<Fields, "apiVersion" | "kind" | "stringData"> {
  readonly kind: "Secret";
}

export const SECRET = converted(
  objectType("Secret", FIELDS, {
    check({ type, data, stringData }, root) {
      const merged = { ...data, ...stringData };
      const replaced = new Set(Object.keys(stringData));
      const counted = Object.entries(data).filter(([key]) => !replaced.has(key));
      checkSize(root, { data: Object.fromEntries(counted), stringData });
      checkType(root, type, merged);
    },
  }),
  {
    to: ({ apiVersion: _version, data, stringData, ...object }): Secret => ({
      ...object,
      kind: "Secret",
      data: { ...data, ...stringData },
    }),
    from: (object) => ({ apiVersion: "v1", stringData: {}, ...object }),
  },
);

/** Types of Kubernetes guarantee certain keys; any other type belongs to the user. */
function checkType(root: Node, type: string, data: Data): void {
  switch (type) {
    case "kubernetes.io/service-account-token":
    case "bootstrap.kubernetes.io/token": {
      const message = `without an API server no controller fills ${type}; its data is kept as written`;
      root.findings.warn([...root.path, "type"], "Ignored", message);
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
  else if (
    bytes.length <= MAX_DATA_BYTES &&
    !isJsonObject(parseJson(new TextDecoder().decode(bytes)))
  )
    root.findings.invalid(["data", key], REDACTED, "must be a JSON object");
}
