// A time as RFC 3339 writes it, inside a written object.

import { invalid, stringField, type Node } from "../decode/field-reader.ts";

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Wall ms; undefined = not written, or no time, which is noted. */
export function timeField(node: Node, key: string): number | undefined {
  const text = stringField(node, key);
  if (text === undefined) return undefined;
  if (isTime(text)) return Date.parse(text);
  invalid(node, key, "must be a time like 2026-11-21T08:00:00Z");
  return undefined;
}

export function isTime(text: string): boolean {
  return RFC3339.test(text) && !Number.isNaN(Date.parse(text));
}
