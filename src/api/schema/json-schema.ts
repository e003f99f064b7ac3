// The JSON Schema of fields and objects, for editors and CI.

import type { Field, JsonSchema, Level } from "./type.ts";

export function objectSchema(fields: Level): JsonSchema {
  const properties = Object.entries(fields).map(
    ([key, field]) => [key, fieldSchema(field)] as const,
  );
  const needed = Object.keys(fields).filter((key) => fields[key]?.required === true);
  return {
    type: ["object", "null"],
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    ...(needed.length === 0 ? {} : { required: needed }),
  };
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
