// JSON data and plain objects.

import { compareText } from "./compare.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** undefined = no such member, or `value` is no object. */
export function memberOf(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** undefined = not JSON, or bytes that are not UTF-8. */
export function parseJson(written: string | Uint8Array): unknown {
  try {
    const isText = typeof written === "string";
    return JSON.parse(isText ? written : new TextDecoder("utf-8", { fatal: true }).decode(written));
  } catch {
    // The error would quote the text, which may hold secrets.
    return undefined;
  }
}

/** The same keys with other values. */
export function mapValues<V, W>(
  record: Readonly<Record<string, V>>,
  change: (value: V, key: string) => W,
): Readonly<Record<string, W>> {
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [key, change(value, key)]),
  );
}

export type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** The same object without the members that are undefined; for spreading into one with optional members. */
export function withoutUndefined<T extends object>(fields: T): Present<T> {
  const present: Present<T> = {};
  return Object.assign(
    present,
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
  );
}

/**
 * RFC 8785: one text for one value, whatever the key order or number spelling. Hashes and UIDs are made of it. `value` is plain
 * JSON data; `undefined` members are left out, numbers that JSON lacks become null.
 */
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
