// data and binaryData as written → a ConfigMap. k8s: ValidateConfigMap

import { bytesOfBase64 } from "../../validation/base64.ts";
import type { WrittenMetadata } from "../../v1/metadata.ts";
import { booleanField, invalidValue, stringMap, type Node } from "../field-reader.ts";
import type { Findings } from "../field-errors.ts";
import type { ConfigMap } from "../../v1/local-object.ts";
import { configKeyError } from "../../validation/reference-rules.ts";

/** Of all values of one ConfigMap or Secret together. k8s: MaxSecretSize */
export const MAX_DATA_BYTES = 1024 * 1024;

export function decodeConfigMap(root: Node, metadata: WrittenMetadata): ConfigMap {
  const data = stringMap(root, "data");
  const binaryData = Object.fromEntries(
    Object.entries(stringMap(root, "binaryData")).map(([key, text]): [string, Uint8Array] => {
      const bytes = bytesOfBase64(text);
      if (bytes === undefined)
        fail(root, ["binaryData", key], invalidValue(text, "must be base64; text belongs in data"));
      if (Object.hasOwn(data, key))
        fail(root, ["binaryData", key], invalidValue(key, "duplicate of key present in data"));
      return [key, bytes ?? new Uint8Array()];
    }),
  );
  judgeKeys(root.findings, "data", Object.keys(data));
  judgeKeys(root.findings, "binaryData", Object.keys(binaryData));
  const encoder = new TextEncoder();
  judgeSize(root.findings, [
    ...Object.values(data).map((text) => encoder.encode(text)),
    ...Object.values(binaryData),
  ]);
  const immutable = booleanField(root, "immutable") ?? false;
  return { kind: "ConfigMap", metadata, data, binaryData, immutable };
}

/** Of a ConfigMap or a Secret; keys are no secret. */
export function judgeKeys(findings: Findings, field: string, keys: readonly string[]): void {
  for (const key of keys) {
    const error = configKeyError(key);
    if (error !== undefined) findings.fail([field, key], "Invalid", invalidValue(key, error));
  }
}

/** Of all values of a ConfigMap or a Secret. */
export function judgeSize(findings: Findings, values: readonly Uint8Array[]): void {
  const size = values.reduce((sum, value) => sum + value.length, 0);
  if (size > MAX_DATA_BYTES)
    findings.fail(["data"], "Invalid", `Too long: may not be more than ${MAX_DATA_BYTES} bytes`);
}

function fail(root: Node, path: readonly string[], message: string): void {
  root.findings.fail(path, "Invalid", message);
}
