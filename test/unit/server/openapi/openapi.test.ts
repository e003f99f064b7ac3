import { describe, expect, test } from "bun:test";
import { SCHEMA_KINDS } from "../../../../src/api/schema/schema-kinds.ts";
import { isJsonObject, memberOf, type JsonObject } from "../../../../src/lib/json.ts";
import { RESOURCES } from "../../../../src/server/kube/resources.ts";
import {
  openApiDocument,
  openApiIndex,
  swaggerDocument,
} from "../../../../src/server/openapi/documents.ts";
import { swaggerBytes } from "../../../../src/server/openapi/swagger-protobuf.ts";

const OPTIONS = { resources: RESOURCES, version: () => "v1.2.3+abc" };
const V2 = swaggerDocument(OPTIONS);
const V3 = openApiDocument("api/v1", OPTIONS) ?? {};
const CORE = "io.k8s.api.core.v1.";

function at(object: unknown, ...path: readonly string[]): unknown {
  return path.reduce(memberOf, object);
}

/** Every `$ref` in a document. */
function refsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(refsIn);
  if (!isJsonObject(value)) return [];
  const { $ref } = value;
  return [...(typeof $ref === "string" ? [$ref] : []), ...Object.values(value).flatMap(refsIn)];
}

describe("the schemas", () => {
  test("have each field of each kind, with its description", () => {
    for (const { kind, level } of SCHEMA_KINDS) {
      const properties = at(V2, "definitions", CORE + kind, "properties");
      expect(Object.keys(isJsonObject(properties) ? properties : {}).toSorted()).toEqual(
        Object.keys(level).toSorted(),
      );
    }
    expect(at(V2, "definitions", `${CORE}Container`, "properties", "image")).toEqual({
      type: "string",
      description: "Image that the container runs.",
    });
    expect(at(V2, "definitions", `${CORE}PodSpec`, "properties", "hostNetwork", "type")).toBe(
      "boolean",
    );
    expect(at(V2, "definitions", `${CORE}PodSpec`, "properties", "containers")).toMatchObject({
      type: "array",
      items: { $ref: `#/definitions/${CORE}Container` },
    });
  });

  test("refer only to schemas that there are", () => {
    const schemas = at(V3, "components", "schemas");
    for (const ref of refsIn(V2))
      expect(at(V2, "definitions", ref.replace("#/definitions/", ""))).toBeDefined();
    for (const ref of refsIn(V3))
      expect(memberOf(schemas, ref.replace("#/components/schemas/", ""))).toBeDefined();
    expect(refsIn(V3).length).toBeGreaterThan(100);
  });

  test("demand no name, which generateName stands in for", () => {
    const meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    expect(at(V2, "definitions", meta, "required")).toBeUndefined();
  });

  test("of v3 keep the description beside a reference", () => {
    expect(at(V3, "components", "schemas", `${CORE}Pod`, "properties", "spec")).toEqual({
      description: expect.any(String) as unknown,
      allOf: [{ $ref: `#/components/schemas/${CORE}PodSpec` }],
    });
  });
});

describe("the operations", () => {
  test("are those of each resource, and what kubectl looks for stands at patch", () => {
    const paths = V2["paths"];
    const one = "/api/v1/namespaces/{namespace}/pods/{name}";
    expect(Object.keys(at(paths, one) as JsonObject).toSorted()).toEqual(
      ["delete", "get", "parameters", "patch", "put"].toSorted(),
    );
    expect(at(paths, one, "patch")).toMatchObject({
      "x-kubernetes-group-version-kind": { group: "", version: "v1", kind: "Pod" },
      consumes: ["application/apply-patch+yaml"],
    });
    const names = (at(paths, one, "patch", "parameters") as readonly JsonObject[]).map(
      ({ name }) => name,
    );
    for (const name of ["dryRun", "fieldValidation", "fieldManager", "force"])
      expect(names).toContain(name);
    expect(Object.keys(at(paths, "/api/v1/nodes/{name}") as JsonObject)).toEqual([
      "get",
      "parameters",
    ]);
    expect(at(paths, "/api/v1/namespaces/{namespace}/events", "post")).toBeUndefined();
  });

  test("have an id each", () => {
    const ids = Object.values(V2["paths"] as JsonObject).flatMap((item) =>
      Object.values(item as JsonObject).flatMap((one) => at(one, "operationId") ?? []),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("the index", () => {
  test("changes with the agent's version", () => {
    const at = (path: string): object => ({
      serverRelativeURL: `/openapi/v3/${path}?hash=v1.2.3%2Babc`,
    });
    expect(openApiIndex(OPTIONS)).toEqual({
      paths: {
        "api/v1": at("api/v1"),
        "apis/agent/v1": at("apis/agent/v1"),
        "apis/metrics.k8s.io/v1beta1": at("apis/metrics.k8s.io/v1beta1"),
      },
    });
    expect(openApiDocument("apis/apps/v1", OPTIONS)).toBeUndefined();
  });
});

/** Fields of one message: number and value. */
function fieldsOf(bytes: Uint8Array): readonly (readonly [number, Uint8Array | number])[] {
  const fields: (readonly [number, Uint8Array | number])[] = [];
  let place = 0;
  const varint = (): number => {
    let [value, shift] = [0, 0];
    for (;;) {
      const byte = bytes[place++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      shift += 7;
    }
  };
  while (place < bytes.length) {
    const tag = varint();
    if ((tag & 7) === 0) fields.push([tag >> 3, varint()]);
    else {
      const length = varint();
      fields.push([tag >> 3, bytes.subarray(place, place + length)]);
      place += length;
    }
  }
  return fields;
}

/** The messages at a field of a message. */
function messages(bytes: Uint8Array, ...path: readonly number[]): readonly Uint8Array[] {
  const [number, ...rest] = path;
  if (number === undefined) return [bytes];
  return fieldsOf(bytes)
    .filter(([own]) => own === number)
    .flatMap(([, value]) => (typeof value === "number" ? [] : messages(value, ...rest)));
}

describe("the protobuf of v2", () => {
  const bytes = swaggerBytes(V2);
  const text = (part: Uint8Array | undefined): string => new TextDecoder().decode(part);

  test("names every definition and path", () => {
    expect(messages(bytes, 9, 1, 1).map(text)).toEqual(Object.keys(V2["definitions"] as object));
    expect(messages(bytes, 8, 2, 1).map(text)).toEqual(Object.keys(V2["paths"] as object));
    expect(text(messages(bytes, 1)[0])).toBe("2.0");
  });

  test("has types, descriptions and kinds of a definition where gnostic looks for them", () => {
    const own = messages(bytes, 9, 1).find((one) => text(messages(one, 1)[0]) === `${CORE}Pod`);
    const [schema] = messages(own ?? new Uint8Array(), 2);
    const pod = schema ?? new Uint8Array();
    expect(messages(pod, 22, 1).map(text)).toEqual(["object"]);
    expect(messages(pod, 25, 1, 1).map(text)).toEqual([
      "apiVersion",
      "kind",
      "metadata",
      "spec",
      "status",
    ]);
    expect(messages(pod, 31, 1).map(text)).toEqual(["x-kubernetes-group-version-kind"]);
    expect(JSON.parse(text(messages(pod, 31, 2, 2)[0]))).toEqual([
      { group: "", version: "v1", kind: "Pod" },
    ]);
  });
});
