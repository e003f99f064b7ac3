// The JSON Schema of fields and objects, for editors and CI.

import type { UnknownFields } from "../decode/field-errors.ts";
import type { UnknownRules } from "../decode/field-reader.ts";
import type { Field, JsonSchema, Level } from "./type.ts";

export interface ObjectRules extends UnknownRules {
  /** None of the fields of the union has to be written. */
  readonly unionOrNone?: true;
  /** Of what must fit together, as much as JSON Schema can express. */
  readonly schema?: JsonSchema;
}

interface ObjectSchemaOptions extends ObjectRules {
  /** Refused if left out. */
  readonly unknownFields?: UnknownFields | undefined;
}

export function objectSchema(fields: Level, options: ObjectSchemaOptions): JsonSchema {
  const { union = [], unionOrNone, unknown, unknownFields, schema } = options;
  const isOpen = unknownFields === "warn" && unknown === undefined;
  const properties = Object.entries(fields).map(
    ([key, field]) => [key, fieldSchema(field, unknownFields)] as const,
  );
  const needed = Object.keys(fields).filter((key) => fields[key]?.required === true);
  return {
    type: ["object", "null"],
    properties: Object.fromEntries(properties),
    ...(isOpen ? {} : { additionalProperties: false }),
    ...(needed.length === 0 ? {} : { required: needed }),
    ...(union.length === 0 ? {} : { oneOf: unionSchemas(union, unionOrNone === true) }),
    ...schema,
  };
}

function unionSchemas(union: readonly string[], orNone: boolean): readonly JsonSchema[] {
  const isNull = { type: "null" };
  const one = union.map((key) => having({ [key]: { not: isNull } }));
  const none = {
    type: "object",
    properties: Object.fromEntries(union.map((key) => [key, isNull])),
  };
  return [isNull, ...one, ...(orNone ? [none] : [])];
}

/** With what its rule refuses. */
function fieldSchema(field: Field, unknownFields: UnknownFields | undefined): JsonSchema {
  const { verdict, except } = field.rule;
  const values = except.flatMap((one) => [...one.values]);
  switch (verdict.type) {
    case "Supported":
      return without(field.schema(unknownFields), values);
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

function without(schema: JsonSchema, values: readonly unknown[]): JsonSchema {
  if (values.length === 0) return schema;
  const { not } = schema;
  return {
    ...schema,
    not: not === undefined ? { enum: values } : { anyOf: [not, { enum: values }] },
  };
}

/** The same without null and the empty text, which are equal to not written. */
export function presentSchema(schema: JsonSchema): JsonSchema {
  const pruned = (list: unknown, ...words: readonly unknown[]): unknown =>
    Array.isArray(list) ? list.filter((one) => !words.includes(one)) : list;
  const type = pruned(schema["type"], "null");
  const choices = pruned(schema["enum"], null, "");
  const isText = Array.isArray(type) && type.includes("string");
  return {
    ...schema,
    ...(type === undefined ? {} : { type }),
    ...(choices === undefined ? {} : { enum: choices }),
    ...(isText ? { minLength: 1 } : {}),
  };
}

/** Of a list or a map: null is an object in which nothing is written, so it is an error where something is required. */
export function itemSchema(schema: JsonSchema): JsonSchema {
  return schema["required"] === undefined ? schema : presentSchema(schema);
}

/** An object in which these fields are written and have these values. */
export function having(values: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: "object", required: Object.keys(values), properties: values };
}

/** Fields of an object that may not have these values together. */
export function notTogether(values: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { not: having(values) };
}

const CONDITIONAL = ["if", "then", "else"] as const;

/** `if`, `then` and `else`. No literal: an object with a member `then` would pass for a promise. */
export function conditional(
  ...schemas: readonly [JsonSchema, JsonSchema, JsonSchema?]
): JsonSchema {
  return Object.fromEntries(CONDITIONAL.map((keyword, index) => [keyword, schemas[index] ?? {}]));
}

/** A schema that stands alone, in the draft that editors support best. */
export function schemaDocument(title: string, about: string, schema: JsonSchema): JsonSchema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title,
    description: about,
    ...schema,
  };
}

interface Emptiness {
  readonly isRequired: boolean;
  /** Whether a value is equal to not written. */
  readonly isEmpty: (written: unknown) => boolean;
}

/** The schema of a field, from that of its values. */
export function emptinessSchema(
  schema: JsonSchema,
  { isRequired, isEmpty }: Emptiness,
): JsonSchema {
  if (!isRequired) return isEmpty("") ? absentSchema(schema) : schema;
  return isEmpty([]) ? { ...presentSchema(schema), minItems: 1 } : presentSchema(schema);
}

function absentSchema(schema: JsonSchema): JsonSchema {
  const { pattern } = schema;
  return typeof pattern === "string" ? { ...schema, pattern: `^$|${pattern}` } : schema;
}
