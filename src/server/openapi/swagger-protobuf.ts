// The document of OpenAPI v2 as kubectl up to 1.26 reads it. gnostic: openapi.v2.Document; the numbers are its fields'

import type { JsonSchema } from "../../api/schema/type.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import {
  booleanField,
  joined,
  messageField,
  textField,
  textFields,
  type Bytes,
} from "./protobuf-fields.ts";

/** The name under which older clients ask for it is no media type to Go's parser, so it is in no answer. */
export const SWAGGER_PROTOBUFS = [
  "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
  "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
] as const;

export function swaggerBytes(document: JsonSchema): Uint8Array {
  const { swagger, info, paths, definitions } = document;
  return joined([
    ...textField(1, swagger),
    ...messageField(2, infoFields(objectOf(info))),
    ...messageField(8, named(2, paths, pathItem)),
    ...messageField(9, named(1, definitions, schema)),
  ]);
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** A map, as a list of messages with a name and a value. */
function named(number: number, map: unknown, fields: (value: JsonObject) => Bytes): Bytes {
  return Object.entries(objectOf(map)).flatMap(([name, value]) =>
    messageField(number, [...textField(1, name), ...messageField(2, fields(objectOf(value)))]),
  );
}

function infoFields({ title, version }: JsonObject): Bytes {
  return [...textField(1, title), ...textField(2, version)];
}

/** The members whose names begin with `x-`. Their values are YAML, which JSON is. */
function extensions(number: number, object: JsonObject): Bytes {
  return Object.entries(object)
    .filter(([name]) => name.startsWith("x-"))
    .flatMap(([name, value]) => {
      const any = textField(2, JSON.stringify(value));
      return messageField(number, [...textField(1, name), ...messageField(2, any)]);
    });
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const METHODS: readonly (readonly [string, number])[] = [
  ["get", 2],
  ["put", 3],
  ["post", 4],
  ["delete", 5],
  ["patch", 8],
];

function pathItem(item: JsonObject): Bytes {
  const operations = METHODS.flatMap(([method, number]) => {
    const operation = item[method];
    return isJsonObject(operation) ? messageField(number, operationFields(operation)) : [];
  });
  return [...operations, ...parameters(9, item["parameters"])];
}

function operationFields(operation: JsonObject): Bytes {
  const { description, operationId, produces, consumes, responses } = operation;
  return [
    ...textField(3, description),
    ...textField(5, operationId),
    ...textFields(6, produces),
    ...textFields(7, consumes),
    ...parameters(8, operation["parameters"]),
    ...messageField(9, named(1, responses, response)),
    ...extensions(13, operation),
  ];
}

function response({ description, schema: own }: JsonObject): Bytes {
  const item = messageField(1, schema(objectOf(own)));
  return messageField(1, [...textField(1, description), ...messageField(2, item)]);
}

function parameters(number: number, list: unknown): Bytes {
  return listOf(list).flatMap((one) => {
    const parameter = parameterFields(objectOf(one));
    return messageField(number, messageField(1, parameter));
  });
}

function parameterFields(parameter: JsonObject): Bytes {
  switch (parameter["in"]) {
    case "body":
      return messageField(1, bodyParameter(parameter));
    case "path":
      return messageField(2, messageField(4, pathParameter(parameter)));
    default:
      return messageField(2, messageField(3, queryParameter(parameter)));
  }
}

function bodyParameter({ description, name, required, schema: own }: JsonObject): Bytes {
  return [
    ...textField(1, description),
    ...textField(2, name),
    ...textField(3, "body"),
    ...booleanField(4, required),
    ...messageField(5, schema(objectOf(own))),
  ];
}

function pathParameter({ description, name, type }: JsonObject): Bytes {
  return [
    ...booleanField(1, true),
    ...textField(2, "path"),
    ...textField(3, description),
    ...textField(4, name),
    ...textField(5, type),
  ];
}

function queryParameter({ description, name, type, uniqueItems }: JsonObject): Bytes {
  return [
    ...textField(2, "query"),
    ...textField(3, description),
    ...textField(4, name),
    ...textField(6, type),
    ...booleanField(20, uniqueItems),
  ];
}

function schema(own: JsonObject): Bytes {
  const { $ref, format, description, required, additionalProperties, type, items, properties } =
    own;
  return [
    ...textField(1, $ref),
    ...textField(2, format),
    ...textField(4, description),
    ...textFields(19, required),
    ...(isJsonObject(additionalProperties)
      ? messageField(21, messageField(1, schema(additionalProperties)))
      : []),
    ...(type === undefined ? [] : messageField(22, textField(1, type))),
    ...(isJsonObject(items) ? messageField(23, messageField(1, schema(items))) : []),
    ...(isJsonObject(properties) ? messageField(25, named(1, properties, schema)) : []),
    ...extensions(31, own),
  ];
}
