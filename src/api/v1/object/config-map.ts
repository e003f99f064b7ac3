// A ConfigMap: text and bytes by key. k8s: ValidateConfigMap

import { invalidAt, type Node } from "../../decode/field-reader.ts";
import { boolean, converted, map, objectType, text, type ObjectOf } from "../../schema/codec.ts";
import type { Field, Type } from "../../schema/type.ts";
import { bytesOfBase64 } from "../../validation/base64.ts";
import { CONFIG_KEY_FORM } from "../../validation/keys-and-paths.ts";
import { BASE64_SCHEMA } from "../../validation/validate-names.ts";
import { objectHead } from "../metadata.ts";
import { mapValues } from "../../../lib/json.ts";
import { grouped } from "../../../lib/short-text.ts";

/** Of all values of one ConfigMap or Secret together. k8s: MaxSecretSize */
export const MAX_DATA_BYTES = 1024 * 1024;

export const immutable: Field<boolean> = boolean({
  about: "Whether the content can never change again.",
  default: false,
});

/** Values by key. A checkpoint keeps those whose key is refused by now. */
export function content<T>(type: Type<T>, about: string): Field<Readonly<Record<string, T>>> {
  const read: Type<T>["read"] = (at) => {
    const key = String(at.path.at(-1));
    const error = CONFIG_KEY_FORM.check(key);
    if (error !== undefined) at.findings.invalid(at.path, key, error);
    return type.read(at);
  };
  return map({ ...type, read }, { about, schema: { propertyNames: CONFIG_KEY_FORM.schema } });
}

/** Bytes in base64. Invalid base64 is reported with `error`, and reads as no bytes. */
export function base64(error: string): Type<Uint8Array> {
  return {
    ...text,
    read(at) {
      const written = text.read(at);
      if (written === undefined) return undefined;
      return bytesOfBase64(written) ?? invalidAt(at, error) ?? new Uint8Array();
    },
    write: (bytes) => bytes.toBase64(),
    schema: () => ({ ...text.schema(), ...BASE64_SCHEMA }),
  };
}

const FIELDS = {
  ...objectHead("ConfigMap"),
  data: content(text, "Text by key; together with binaryData at most 1 MiB."),
  binaryData: content(base64("must be base64; text belongs in data"), "Bytes by key, in base64."),
  immutable,
};

export const CONFIG_MAP = converted(objectType("ConfigMap", FIELDS, { check: checkContent }), {
  to: ({ apiVersion: _version, ...object }): ConfigMap => ({ ...object, kind: "ConfigMap" }),
  from: (object) => ({ apiVersion: "v1", ...object }),
});
export interface ConfigMap extends Omit<ObjectOf<typeof FIELDS>, "apiVersion" | "kind"> {
  readonly kind: "ConfigMap";
}

function checkContent({ data, binaryData }: ObjectOf<typeof FIELDS>, root: Node): void {
  for (const key of Object.keys(binaryData))
    if (Object.hasOwn(data, key))
      root.findings.invalid(["binaryData", key], key, "duplicate of key present in data");
  const encoder = new TextEncoder();
  const texts = mapValues(data, (text) => encoder.encode(text));
  checkSize(root, { data: texts, binaryData });
}

/** Of all values of a ConfigMap or a Secret, by field and key; reported at the largest. */
export function checkSize(
  { findings }: Node,
  fields: Readonly<Record<string, Readonly<Record<string, Uint8Array>>>>,
): void {
  const values = Object.entries(fields).flatMap(([field, values]) =>
    Object.entries(values).map(([key, { length }]) => ({ path: [field, key], length })),
  );
  const size = values.reduce((sum, { length }) => sum + length, 0);
  if (size <= MAX_DATA_BYTES) return;
  const largest = values.reduce((most, one) => (one.length > most.length ? one : most));
  const { path, length } = largest;
  const message = `Too long: data of ${grouped(size)} bytes, at most ${grouped(MAX_DATA_BYTES)}; the largest is ${path[0]}[${JSON.stringify(path[1])}] with ${grouped(length)}`;
  findings.fail(path, "Invalid", message);
}
