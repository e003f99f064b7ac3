// `--sort-by=.status.startTime`: the order of a table or list. kubectl: get --sort-by

import { ok, type Result } from "../../lib/result.ts";
import { compareText } from "../../lib/compare.ts";
import { parseQuantity } from "../../api/resource/quantity.ts";
import { jsonPathValues, parseJsonPath, valueText } from "./json-path.ts";

type Order = (a: unknown, b: unknown) => number;

/** Compares two objects. What lacks the field comes first. */
export function orderBy(written: string): Result<Order> {
  const path = parseJsonPath(written.startsWith("{") ? written : `{${written}}`);
  if (!path.ok) return path;
  const key = (object: unknown): unknown => jsonPathValues(path.value, object)[0];
  return ok((a, b) => compareValues(key(a), key(b)));
}

/** The newest last: events without an order of their own. */
export const BY_LAST_SEEN = ".lastTimestamp";

function compareValues(a: unknown, b: unknown): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [left, right] = [valueText(a), valueText(b)];
  const [first, second] = [parseQuantity(left), parseQuantity(right)];
  if (first === undefined || second === undefined) return compareText(left, right);
  return first < second ? -1 : Number(first > second);
}
