// RFC 8785: one text for one value, whatever the key order or number spelling. Hashes and UIDs stand on it.

import { compareText } from "./compare.ts";

/** `value` is plain JSON data; `undefined` members are left out, numbers that JSON lacks become null. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  // The default order of sort() is by UTF-16 code units, which is RFC 8785's.
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}
