// Reads what other clients published: any shape is possible, and nothing here throws.

import { type JsonObject, isJsonObject } from "../lib/json.ts";

/** A JSON object in UTF-8; undefined = anything else. */
export function wireObject(payload: Uint8Array): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(new TextDecoder().decode(payload)));
  } catch {
    // Not JSON: no document.
    return undefined;
  }
}

export function objectOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A whole number of at least 0. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The objects of a list; other values are left out. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return list(value).flatMap((entry) => {
    const object = objectOf(entry);
    return object === undefined ? [] : [object];
  });
}

/** The texts of an object, the rest left out. */
export function textsOf(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(objectOf(value) ?? {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
