import { describe, expect, test } from "bun:test";

import { nodeConfigMap, reservedError } from "../../../../src/api/pod/node-config-map.ts";
import { mayUse } from "../../../../src/source/object-access.ts";
import { ROOMY } from "../../../fakes/a-node.ts";
import { mergeSnapshots } from "../../../../src/source/merge-sources.ts";
import { sameValue } from "../../../../src/lib/compare.ts";
import { aClaim, aConfigMap, aDesiredObject, aSecret, named } from "../../../fakes/an-object.ts";
import type { SourceName } from "../../../../src/api/pod/labels.ts";
import { immutableErrors } from "../../../../src/source/immutable-objects.ts";

const options = { ...ROOMY, groupPriorities: new Map([["kiosks", 10]]) };

function snapshot(source: SourceName, ...objects: readonly Parameters<typeof aDesiredObject>[0][]) {
  const sourceRef = source === "file" ? "/m/a.yaml#1" : "generation 7";
  const desired = objects.map((object) => aDesiredObject(object, { source, sourceRef }));
  return { source, ready: true, pods: [], objects: desired, rejected: [] };
}

describe("merging", () => {
  test("the higher source wins a name of a kind, the other is Shadowed", () => {
    const { objects, rejected } = mergeSnapshots(
      [
        snapshot("mqtt:group/kiosks", aConfigMap({ a: "group" }), aSecret({ a: "group" })),
        snapshot("mqtt:node", aConfigMap({ a: "node" }), aSecret({ a: "node" }), aClaim()),
        snapshot("file", aConfigMap({ a: "file" }), named(aConfigMap({}), "web", "shop")),
      ],
      options,
    );
    expect(
      objects.map(({ object, source }) => [object.kind, object.metadata.namespace, source]),
    ).toEqual([
      ["ConfigMap", "default", "file"],
      ["ConfigMap", "shop", "file"],
      ["Secret", "default", "mqtt:node"],
      ["PersistentVolumeClaim", "default", "mqtt:node"],
    ]);
    expect(rejected).toEqual([
      {
        source: "mqtt:node",
        ref: "generation 7",
        kind: "ConfigMap",
        namespace: "default",
        name: "web",
        code: "Shadowed",
        path: "metadata.name",
        message: "ConfigMap default/web of file (/m/a.yaml#1) counts instead: it comes first",
      },
      expect.objectContaining({ source: "mqtt:group/kiosks", kind: "ConfigMap", code: "Shadowed" }),
      expect.objectContaining({ source: "mqtt:group/kiosks", kind: "Secret", code: "Shadowed" }),
    ]);
  });

  test("the node's own ConfigMap cannot be declared", () => {
    const mine = named(aConfigMap({ name: "mine" }), "agent-node", "shop");
    const { objects, rejected } = mergeSnapshots(
      [snapshot("file", mine, named(aSecret({}), "agent-node"))],
      options,
    );
    expect(objects.map(({ object }) => object.kind)).toEqual(["Secret"]);
    expect(rejected).toMatchObject([{ code: "Reserved", ref: "/m/a.yaml", namespace: "shop" }]);
  });
});

describe("access of pods to objects", () => {
  const sources = ["file", "http", "mqtt:node", "mqtt:group/kiosks"] as const;
  const readers = (
    object: Parameters<typeof aDesiredObject>[0],
    source: SourceName,
    { signed = false } = {},
  ) =>
    sources.filter((reader) =>
      mayUse({ source: reader, signed }, aDesiredObject(object, { source })),
    );

  test("static pods use only what is static", () => {
    for (const object of [aConfigMap({}), aSecret({}), aClaim()]) {
      expect(readers(object, "mqtt:node")).toEqual(["mqtt:node", "mqtt:group/kiosks"]);
      expect(readers(object, "mqtt:group/kiosks")).toEqual(["mqtt:node", "mqtt:group/kiosks"]);
    }
  });

  test("pods of unsigned documents get no Secret and no claim from files", () => {
    expect(readers(aSecret({}), "file")).toEqual(["file", "http"]);
    expect(readers(aConfigMap({}), "file")).toEqual([...sources]);
    expect(readers(aClaim(), "file")).toEqual(["file", "http"]);
  });

  test("pods of signed documents get Secrets from files too, and no claim", () => {
    const signed = true;
    expect(readers(aSecret({}), "file", { signed })).toEqual([...sources]);
    expect(readers(aConfigMap({}), "file", { signed })).toEqual([...sources]);
    expect(readers(aClaim(), "file", { signed })).toEqual(["file", "http"]);
  });
});

describe("equality of objects", () => {
  const binaryData = { b: new Uint8Array([1, 2]) };
  test.each([
    ["another value", aConfigMap({ a: "1" }), aConfigMap({ a: "2" })],
    ["another key", aConfigMap({ a: "1" }), aConfigMap({ b: "1" })],
    ["one key more", aConfigMap({ a: "1" }), aConfigMap({ a: "1", b: "1" })],
    [
      "other bytes",
      aConfigMap({}, { binaryData }),
      aConfigMap({}, { binaryData: { b: new Uint8Array([1, 3]) } }),
    ],
    ["a prefix", aSecret({ a: "12" }), aSecret({ a: "1" })],
    ["a key that every object has", aConfigMap({ toString: "1" }), aConfigMap({ a: "1" })],
    [
      "text and bytes",
      aConfigMap({ a: "1" }),
      aConfigMap({}, { binaryData: { a: new Uint8Array([49]) } }),
    ],
    ["a label", aClaim(), { ...aClaim(), metadata: { ...aClaim().metadata, labels: { a: "b" } } }],
    ["the type", aSecret({}), aSecret({}, { type: "x" })],
    ["the flag", aSecret({}), aSecret({}, { immutable: true })],
    ["the size", aClaim(), aClaim({ storage: "2Gi" })],
  ])("sees %s", (_, one, other) => {
    expect([sameValue(one, other), sameValue(other, one)]).toEqual([false, false]);
  });

  test("takes copies for the same", () => {
    for (const object of [aConfigMap({ a: "1" }, { binaryData }), aSecret({ a: "1" }), aClaim()])
      expect(sameValue(object, structuredClone(object))).toBe(true);
  });
});

describe("immutable", () => {
  const fixed = { immutable: true };
  const binaryData = { a: new Uint8Array([1]) };
  const paths = (errors: ReturnType<typeof immutableErrors>) => errors.map(({ path }) => path);
  test.each([
    [[], aConfigMap({ a: "1" }), aConfigMap({ a: "2" })],
    [[], aConfigMap({ a: "1" }), aConfigMap({ a: "1" }, fixed)],
    [[], aConfigMap({ a: "1" }, fixed), aConfigMap({ a: "1" }, fixed)],
    [["data"], aConfigMap({ a: "1" }, fixed), aConfigMap({}, fixed)],
    [["binaryData"], aConfigMap({}, fixed), aConfigMap({}, { ...fixed, binaryData })],
    [["immutable"], aConfigMap({}, fixed), aConfigMap({})],
    [["immutable", "data"], aSecret({ a: "1" }, fixed), aSecret({ a: "2" })],
    [[], aClaim(), aClaim({ storage: "2Gi" })],
  ] as const)("%j", (expected, before, now) => {
    expect(paths(immutableErrors(before, now))).toEqual([...expected]);
  });
});

describe("the node's own ConfigMap", () => {
  test("contains name, labels, groups and architecture", () => {
    const node = {
      name: "pi-1",
      labels: { site: "berlin", disk: "ssd" },
      groups: ["kiosks", "berlin"],
      arch: "arm64",
    };
    expect(nodeConfigMap(node, "shop")).toEqual({
      kind: "ConfigMap",
      metadata: { name: "agent-node", namespace: "shop", labels: {}, annotations: {} },
      data: {
        name: "pi-1",
        labels: '{"disk":"ssd","site":"berlin"}',
        groups: "kiosks,berlin",
        arch: "arm64",
      },
      binaryData: {},
      immutable: false,
    });
    expect(reservedError(nodeConfigMap(node, "shop"))?.code).toBe("Reserved");
    expect(reservedError(aConfigMap({}))).toBeUndefined();
  });
});
