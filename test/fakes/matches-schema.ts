// Judges a value by a JSON Schema: as much of the language as the codec writes.

import { isJsonObject, type JsonObject } from "../../src/lib/json.ts";

type Check = (expected: unknown, value: unknown, schema: JsonObject) => boolean;

const CHECKS: Readonly<Record<string, Check>> = {
  type: (types, value) => list(types).some((type) => isOf(type, value)),
  enum: (choices, value) => list(choices).some((choice) => same(choice, value)),
  const: same,
  not: (schema, value) => !matches(schema, value),
  anyOf: (schemas, value) => list(schemas).some((schema) => matches(schema, value)),
  oneOf: (schemas, value) => list(schemas).filter((schema) => matches(schema, value)).length === 1,
  pattern: (pattern, value) =>
    typeof value !== "string" || new RegExp(String(pattern), "u").test(value),
  minLength: (length, value) => typeof value !== "string" || value.length >= Number(length),
  maxLength: (length, value) => typeof value !== "string" || value.length <= Number(length),
  minimum: (least, value) => typeof value !== "number" || value >= Number(least),
  maximum: (most, value) => typeof value !== "number" || value <= Number(most),
  minItems: (count, value) => !Array.isArray(value) || value.length >= Number(count),
  maxItems: (count, value) => !Array.isArray(value) || value.length <= Number(count),
  uniqueItems: (_, value) =>
    !Array.isArray(value) ||
    new Set(value.map((item) => JSON.stringify(item))).size === value.length,
  items: (schema, value) =>
    !Array.isArray(value) || value.every((item: unknown) => matches(schema, item)),
  required: (keys, value) =>
    !isJsonObject(value) || list(keys).every((key) => Object.hasOwn(value, String(key))),
  propertyNames: (schema, value) =>
    !isJsonObject(value) || Object.keys(value).every((key) => matches(schema, key)),
  properties: (schemas, value) =>
    !isJsonObject(value) ||
    Object.entries(value).every(([key, one]) => matches(ownMember(schemas, key) ?? {}, one)),
  additionalProperties: (allowed, value, { properties }) =>
    !isJsonObject(value) ||
    Object.entries(value).every(
      ([key, one]) =>
        ownMember(properties, key) !== undefined ||
        (allowed !== false && matches(allowed === true ? {} : allowed, one)),
    ),
  description: () => true,
  default: () => true,
};

/** Throws for a keyword that it does not know. */
export function matches(schema: unknown, value: unknown): boolean {
  if (!isJsonObject(schema)) throw new Error(`no schema: ${JSON.stringify(schema)}`);
  return Object.entries(schema).every(([keyword, expected]) => {
    const check = CHECKS[keyword];
    if (check === undefined) throw new Error(`unknown keyword ${keyword}`);
    return check(expected, value, schema);
  });
}

/** The places of an object that its schema refuses, deepest first found: for messages of tests. */
export function refusedPlaces(schema: unknown, value: unknown, path = ""): readonly string[] {
  if (matches(schema, value)) return [];
  const { properties, items } = isJsonObject(schema) ? schema : {};
  const below = isJsonObject(value)
    ? Object.entries(value).flatMap(([key, one]) => {
        const member = ownMember(properties, key);
        return member === undefined ? [] : refusedPlaces(member, one, `${path}.${key}`);
      })
    : Array.isArray(value) && items !== undefined
      ? value.flatMap((one: unknown, index) => refusedPlaces(items, one, `${path}[${index}]`))
      : [];
  return below.length > 0 ? below : [path];
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function ownMember(object: unknown, key: string): unknown {
  return isJsonObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

function isOf(type: unknown, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
