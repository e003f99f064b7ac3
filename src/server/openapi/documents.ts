// The documents of OpenAPI v2 and v3. Of a group, v3 has the same schemas and operations in another form.

import type { JsonSchema } from "../../api/schema/type.ts";
import { isJsonObject, mapValues, memberOf } from "../../lib/json.ts";
import { apiVersionOf, type KubeResource } from "../kube/kube-resource.ts";
import { definitionsOf, REF } from "./definitions.ts";
import { pathsOf } from "./paths.ts";

export interface OpenApiOptions {
  readonly resources: readonly KubeResource[];
  /** Of the agent. */
  readonly version: () => string;
}

function infoOf(version: string): JsonSchema {
  return { title: "Kubernetes API of one node", version };
}

export function swaggerDocument({ resources, version }: OpenApiOptions): JsonSchema {
  return {
    swagger: "2.0",
    info: infoOf(version()),
    paths: pathsOf(resources),
    definitions: definitionsOf(resources),
  };
}

/** `api/v1`, `apis/<group>/<version>`: the part of the path of a document of v3. */
function groupPath(resource: KubeResource): string {
  const version = apiVersionOf(resource);
  return resource.group === "" ? `api/${version}` : `apis/${version}`;
}

/** Where the document of each group is. A document changes only with the agent. */
export function openApiIndex({ resources, version }: OpenApiOptions): JsonSchema {
  const paths = [...new Set(resources.map(groupPath))].map((path) => {
    const serverRelativeURL = `/openapi/v3/${path}?hash=${encodeURIComponent(version())}`;
    return [path, { serverRelativeURL }] as const;
  });
  return { paths: Object.fromEntries(paths) };
}

/** `path`: such as `api/v1`; undefined = there is no such group. */
export function openApiDocument(
  path: string,
  { resources, version }: OpenApiOptions,
): JsonSchema | undefined {
  const own = resources.filter((resource) => groupPath(resource) === path);
  if (own.length === 0) return undefined;
  return {
    openapi: "3.0.0",
    info: infoOf(version()),
    paths: mapValues(pathsOf(own), pathItem),
    components: { schemas: mapValues(definitionsOf(own), schemaOf) },
  };
}

const REF_V3 = "#/components/schemas/";

function schemaOf(schema: JsonSchema): JsonSchema {
  const { $ref, ...others } = schema;
  const below = mapValues(others, (value, key) => {
    if (key === "properties" && isJsonObject(value))
      return mapValues(value, (one) => (isJsonObject(one) ? schemaOf(one) : one));
    const isSchema = key === "items" || key === "additionalProperties";
    return isSchema && isJsonObject(value) ? schemaOf(value) : value;
  });
  if (typeof $ref !== "string") return below;
  const ref = { $ref: REF_V3 + $ref.slice(REF.length) };
  // Beside a reference nothing else counts.
  return Object.keys(below).length === 0 ? ref : { ...below, allOf: [ref] };
}

function pathItem(item: JsonSchema): JsonSchema {
  return mapValues(item, (value) => {
    if (Array.isArray(value)) return value.map(parameterOf);
    return isJsonObject(value) ? operationOf(value) : value;
  });
}

function parameterOf(parameter: unknown): unknown {
  if (!isJsonObject(parameter)) return parameter;
  const { type, uniqueItems, ...others } = parameter;
  return { ...others, schema: { type, ...(uniqueItems === undefined ? {} : { uniqueItems }) } };
}

function operationOf({
  consumes,
  produces,
  parameters,
  responses,
  ...others
}: JsonSchema): JsonSchema {
  const all = Array.isArray(parameters) ? (parameters as readonly unknown[]) : [];
  const body = all.find((one) => memberOf(one, "in") === "body");
  const content = (types: unknown, schema: unknown): JsonSchema => ({
    content: Object.fromEntries(
      (Array.isArray(types) ? (types as readonly unknown[]) : []).map((type) => [
        String(type),
        { schema: isJsonObject(schema) ? schemaOf(schema) : {} },
      ]),
    ),
  });
  return {
    ...others,
    parameters: all.filter((one) => one !== body).map(parameterOf),
    ...(body === undefined ? {} : { requestBody: content(consumes, memberOf(body, "schema")) }),
    responses: mapValues(isJsonObject(responses) ? responses : {}, (one) => ({
      description: memberOf(one, "description"),
      ...content(produces, memberOf(one, "schema")),
    })),
  };
}
