// Which changes of a ConfigMap or Secret `immutable: true` forbids.

import type { LocalObject } from "../api/v1/object/local-object.ts";
import type { FieldError } from "../lib/result.ts";
import { sameValue } from "../lib/compare.ts";

/** kubernetes: ValidateConfigMapUpdate, ValidateSecretUpdate. The messages show nothing of the content. */
export function immutableErrors(before: LocalObject, now: LocalObject): readonly FieldError[] {
  if (!isImmutable(before)) return [];
  const [was, is]: readonly Readonly<Record<string, unknown>>[] = [{ ...before }, { ...now }];
  const changed = ["data", "binaryData"].filter((field) => !sameValue(was?.[field], is?.[field]));
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
