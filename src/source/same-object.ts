// Whether two local objects are equal, and which changes an immutable one forbids.

import type { LocalObject } from "../api/v1/object/local-object.ts";
import { sameValue } from "../lib/compare.ts";
import type { FieldError } from "../lib/result.ts";

type Content = Readonly<Record<string, string | Uint8Array>>;

/** Compares everything that a pod or a user can see. */
export function sameObject(a: LocalObject, b: LocalObject): boolean {
  if (a === b) return true;
  const [one, other] = [contentsOf(a), contentsOf(b)];
  return sameValue(withoutContent(a), withoutContent(b)) && one.every(same);

  function same(content: NamedContent, index: number): boolean {
    return sameContent(content.content, other[index]?.content ?? {});
  }
}

/** kubernetes: ValidateConfigMapUpdate, ValidateSecretUpdate. The messages show nothing of the content. */
export function immutableErrors(before: LocalObject, now: LocalObject): readonly FieldError[] {
  if (!isImmutable(before)) return [];
  const later = contentsOf(now);
  const changed = contentsOf(before)
    .filter(({ content }, index) => !sameContent(content, later[index]?.content ?? {}))
    .map(({ field }) => field);
  const fields = [...(isImmutable(now) ? [] : ["immutable"]), ...changed];
  return fields.map((path) => ({
    path,
    code: "Invalid",
    message: "Forbidden: field is immutable when `immutable` is set",
  }));
}

function isImmutable(object: LocalObject): boolean {
  return "immutable" in object && object.immutable;
}

interface NamedContent {
  readonly field: string;
  readonly content: Content;
}

function contentsOf(object: LocalObject): readonly NamedContent[] {
  switch (object.kind) {
    case "ConfigMap":
      return [
        { field: "data", content: object.data },
        { field: "binaryData", content: object.binaryData },
      ];
    case "Secret":
      return [{ field: "data", content: object.data }];
    case "PersistentVolumeClaim":
      return [];
  }
}

function withoutContent(object: LocalObject): object {
  return { ...object, data: undefined, binaryData: undefined };
}

function sameContent(a: Content, b: Content): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => {
    const [one, other] = [a[key], Object.hasOwn(b, key) ? b[key] : undefined];
    return one === other || (isBytes(one) && isBytes(other) && sameBytes(one, other));
  });
}

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
