// data and stringData as written → a Secret. What is wrong is said without a letter of the content. k8s: ValidateSecret

import { bytesOfBase64 } from "../../validation/base64.ts";
import { judgeKeys, judgeSize, MAX_DATA_BYTES } from "./decode-config-map.ts";
import type { WrittenMetadata } from "../../v1/metadata.ts";
import { booleanField, invalidValue, stringField, type Node } from "../field-reader.ts";
import type { Secret } from "../../v1/local-object.ts";
import { isJsonObject } from "../../../lib/json.ts";

const OPAQUE = "Opaque";
const REDACTED = "<secret contents redacted>";

type Data = Readonly<Record<string, Uint8Array>>;
type Content = "data" | "stringData";

export function decodeSecret(root: Node, metadata: WrittenMetadata): Secret {
  const written = stringField(root, "type") ?? "";
  const type = written === "" ? OPAQUE : written;
  const data: Data = { ...encodedData(root), ...plainData(root) };
  judgeKeys(root.findings, "data", Object.keys(contentOf(root, "data")));
  judgeKeys(root.findings, "stringData", Object.keys(contentOf(root, "stringData")));
  judgeSize(root.findings, Object.values(data));
  judgeType(root, type, data);
  const immutable = booleanField(root, "immutable") ?? false;
  return { kind: "Secret", metadata, type, data, immutable };
}

function encodedData(root: Node): Data {
  const entries = texts(root, "data").map(([key, text]): [string, Uint8Array] => {
    const bytes = bytesOfBase64(text);
    if (bytes === undefined)
      hidden(root, ["data", key], "must be base64; plain text belongs in stringData");
    return [key, bytes ?? new Uint8Array()];
  });
  return Object.fromEntries(entries);
}

function plainData(root: Node): Data {
  const encoder = new TextEncoder();
  return Object.fromEntries(
    texts(root, "stringData").map(([key, text]) => [key, encoder.encode(text)]),
  );
}

/** The field reader would show what stands there; here nothing may. */
function texts(root: Node, field: Content): readonly [string, string][] {
  const value = root.value[field] ?? undefined;
  if (value !== undefined && !isJsonObject(value)) hidden(root, [field], "must be an object");
  return Object.entries(contentOf(root, field)).flatMap(([key, text]): [string, string][] => {
    if (typeof text === "string") return [[key, text]];
    if (text === null) return [[key, ""]];
    const path = [field, key];
    const word = typeof text === "boolean" ? root.findings.wordAt(path) : undefined;
    if (word === undefined) {
      const quotes = typeof text === "object" ? "" : "; put it in quotes";
      hidden(root, path, `must be a string${quotes}`);
      return [];
    }
    root.findings.warn(path, "Ignored", "an unquoted word is read as text here; put it in quotes");
    root.findings.rewrites.push({ path, text: word });
    return [[key, word]];
  });
}

function contentOf(root: Node, field: Content): Readonly<Record<string, unknown>> {
  const value = root.value[field];
  return isJsonObject(value) ? value : {};
}

function hidden(root: Node, path: readonly string[], message: string): void {
  root.findings.fail(path, "Invalid", invalidValue(REDACTED, message));
}

/** Types of Kubernetes promise certain keys; any other type is the user's own. */
function judgeType(root: Node, type: string, data: Data): void {
  switch (type) {
    case "kubernetes.io/service-account-token":
    case "bootstrap.kubernetes.io/token":
      root.findings.fail(
        ["type"],
        "NeedsAPIServer",
        `${type} needs a Kubernetes API server; use ${OPAQUE}`,
      );
      return;
    case "kubernetes.io/dockerconfigjson":
      judgeJson(root, data, ".dockerconfigjson");
      return;
    case "kubernetes.io/dockercfg":
      judgeJson(root, data, ".dockercfg");
      return;
    case "kubernetes.io/basic-auth":
      // Either may be empty, and one of them is enough.
      if (Object.hasOwn(data, "username") || Object.hasOwn(data, "password")) return;
      requireKey(root, "username");
      requireKey(root, "password");
      return;
    case "kubernetes.io/ssh-auth":
      if ((data["ssh-privatekey"]?.length ?? 0) === 0) requireKey(root, "ssh-privatekey");
      return;
    case "kubernetes.io/tls":
      for (const key of ["tls.crt", "tls.key"])
        if (!Object.hasOwn(data, key)) requireKey(root, key);
      return;
  }
}

function judgeJson(root: Node, data: Data, key: string): void {
  const bytes = data[key];
  if (bytes === undefined) requireKey(root, key);
  // A longer one is refused for its size, and parsing it could cost hundreds of MiB.
  else if (bytes.length <= MAX_DATA_BYTES && !isJsonText(bytes))
    hidden(root, ["data", key], "must be a JSON object");
}

/** Of an object. */
function isJsonText(bytes: Uint8Array): boolean {
  try {
    return isJsonObject(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    // Its message would show content.
    return false;
  }
}

function requireKey(root: Node, key: string): void {
  root.findings.fail(["data", key], "Required", "Required value");
}
