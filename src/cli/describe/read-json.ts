// Reads objects of the API that this command prints: what is absent, or of another type, is empty.

import { isJsonObject, type JsonObject } from "../../lib/json.ts";

const NOTHING: JsonObject = {};

export function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  const found = valueAt(value, path);
  return isJsonObject(found) ? found : NOTHING;
}

export function listAt(value: unknown, ...path: readonly string[]): readonly JsonObject[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found.filter(isJsonObject) : [];
}

export function textsAt(value: unknown, ...path: readonly string[]): readonly string[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found.map(String) : [];
}

/** "" = absent. Numbers and booleans are texts too. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, path);
  if (typeof found === "string") return found;
  return typeof found === "number" || typeof found === "boolean" ? String(found) : "";
}

export function isTrueAt(value: unknown, ...path: readonly string[]): boolean {
  return valueAt(value, path) === true;
}

export function has(value: unknown, ...path: readonly string[]): boolean {
  return valueAt(value, path) !== undefined;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (found, name) => (isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined),
    value,
  );
}
