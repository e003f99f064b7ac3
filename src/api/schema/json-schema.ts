// The JSON Schema of fields and objects, for editors and CI.

import type { Field, JsonSchema, Level } from "./type.ts";

interface Union {
  /** Fields of which exactly one is to be written. */
  readonly union?: readonly string[];
  /** Or none. */
  readonly unionOrNone?: true;
}

export function objectSchema(fields: Level, { union = [], unionOrNone }: Union = {}): JsonSchema {
  const properties = Object.entries(fields).map(
    ([key, field]) => [key, fieldSchema(field)] as const,
  );
  const needed = Object.keys(fields).filter((key) => fields[key]?.required === true);
  return {
    type: ["object", "null"],
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    ...(needed.length === 0 ? {} : { required: needed }),
    ...(union.length === 0 ? {} : { oneOf: unionSchemas(union, unionOrNone === true) }),
  };
}

function unionSchemas(union: readonly string[], orNone: boolean): readonly JsonSchema[] {
  const isNull = { type: "null" };
  const one = union.map((key) => ({
    type: "object",
    required: [key],
    properties: { [key]: { not: isNull } },
  }));
  const none = {
    type: "object",
    properties: Object.fromEntries(union.map((key) => [key, isNull])),
  };
  return [isNull, ...one, ...(orNone ? [none] : [])];
}

/** With what its rule refuses. */
function fieldSchema(field: Field): JsonSchema {
  const { verdict, except } = field.rule;
  const values = except.flatMap((one) => [...one.values]);
  switch (verdict.type) {
    case "Supported":
      return values.length === 0 ? field.schema() : { ...field.schema(), not: { enum: values } };
    case "Refused":
      return {
        description: `${field.about} Refused: ${verdict.message}.`,
        enum: [null, ...values],
      };
    case "Ignored":
    case "Silent":
      return { description: field.about };
  }
}

/** The same without null and the empty text, which are equal to not written. */
export function presentSchema(schema: JsonSchema): JsonSchema {
  const without = (list: unknown, ...words: readonly unknown[]): unknown =>
    Array.isArray(list) ? list.filter((one) => !words.includes(one)) : list;
  const type = without(schema["type"], "null");
  const choices = without(schema["enum"], null, "");
  const isText = Array.isArray(type) && type.includes("string");
  return {
    ...schema,
    ...(type === undefined ? {} : { type }),
    ...(choices === undefined ? {} : { enum: choices }),
    ...(isText ? { minLength: 1 } : {}),
  };
}

/** The same where the empty text is equal to not written. */
export function absentSchema(schema: JsonSchema): JsonSchema {
  const { pattern } = schema;
  return typeof pattern === "string" ? { ...schema, pattern: `^$|${pattern}` } : schema;
}
