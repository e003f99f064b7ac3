// A time as RFC 3339 writes it, inside a written object.

import { invalid, stringField, type Node } from "../decode/field-reader.ts";

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Wall ms; undefined = not written, or no time, which is noted. */
export function timeField(node: Node, key: string): number | undefined {
  const text = stringField(node, key);
  if (text === undefined) return undefined;
  const time = RFC3339.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  invalid(node, key, "must be a time like 2026-11-21T08:00:00Z");
  return undefined;
}
