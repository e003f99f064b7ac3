import { describe, expect, test } from "bun:test";

import { canonicalJson } from "../../../../src/lib/json.ts";
import type { ConfigMap } from "../../../../src/api/v1/object/config-map.ts";
import type { Secret } from "../../../../src/api/v1/object/secret.ts";
import type { LocalObjects } from "../../../../src/api/v1/object/local-object.ts";
import { configInputs, referencesOf } from "../../../../src/api/pod/object-references.ts";
import type { ObjectProjection } from "../../../../src/api/v1/projections.ts";
import type { Volume } from "../../../../src/api/v1/volumes.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import { decode, writtenPod } from "../written-pod.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const all = (name: string): ObjectProjection => ({ name, items: [], optional: false });

describe("references", () => {
  test("a pod that refers to nothing has none", () => {
    expect(referencesOf(aPod())).toEqual([]);
  });

  test("are found wherever they stand", () => {
    const variables: Container["env"] = [
      { name: "A", value: "x" },
      { name: "B", valueFrom: { type: "fieldRef", fieldPath: "metadata.name" } },
      {
        name: "C",
        valueFrom: { type: "configMapKeyRef", name: "c1", key: "k", optional: true },
      },
      {
        name: "D",
        valueFrom: { type: "secretKeyRef", name: "s1", key: "k", optional: false },
      },
    ];
    const pod = aPod(
      {
        imagePullSecrets: ["pull"],
        volumes: [
          { name: "e", emptyDir: { medium: "" } },
          { name: "c", configMap: { ...all("c2"), defaultMode: 0o644 } },
          { name: "s", secret: { ...all("s2"), optional: true, defaultMode: 0o644 } },
          {
            name: "p",
            projected: {
              defaultMode: 0o644,
              sources: [
                { type: "downwardAPI", items: [] },
                { type: "configMap", ...all("c3") },
                { type: "secret", ...all("s3") },
              ],
            },
          },
          { name: "d", persistentVolumeClaim: { claimName: "data", readOnly: false } },
        ],
        initContainers: [aContainer("i", { env: variables })],
        containers: [
          aContainer("a", {
            envFrom: [
              { type: "configMap", name: "c4", prefix: "", optional: false },
              { type: "secret", name: "s4", prefix: "", optional: true },
            ],
          }),
        ],
      },
      { namespace: "shop" },
    );
    const found = referencesOf(pod).map(
      ({ kind, namespace, name, optional, path }) =>
        `${path}: ${kind} ${namespace}/${name}${optional ? "?" : ""}`,
    );
    expect(found).toEqual([
      "spec.imagePullSecrets[0]: Secret shop/pull?",
      "spec.volumes[1].configMap: ConfigMap shop/c2",
      "spec.volumes[2].secret: Secret shop/s2?",
      "spec.volumes[3].projected.sources[1].configMap: ConfigMap shop/c3",
      "spec.volumes[3].projected.sources[2].secret: Secret shop/s3",
      "spec.volumes[4].persistentVolumeClaim: PersistentVolumeClaim shop/data",
      "spec.initContainers[0].env[2].valueFrom.configMapKeyRef: ConfigMap shop/c1?",
      "spec.initContainers[0].env[3].valueFrom.secretKeyRef: Secret shop/s1",
      "spec.containers[0].envFrom[0].configMapRef: ConfigMap shop/c4",
      "spec.containers[0].envFrom[1].secretRef: Secret shop/s4?",
    ]);
  });

  test("are reported with their written index, although an injected token before them was left out", () => {
    const { pods } = decode(
      writtenPod({
        volumes: [
          { name: "kube-api-access-x", projected: { sources: [{ serviceAccountToken: {} }] } },
          { name: "c", configMap: { name: "settings" } },
        ],
      }),
    );
    const found = pods.flatMap(({ desired }) => referencesOf(desired.pod));
    expect(found.map(({ path }) => path)).toEqual(["spec.volumes[1].configMap"]);
  });
});

interface Content {
  readonly data?: Record<string, string>;
  readonly binary?: Record<string, string>;
  readonly secret?: Record<string, string>;
}

/** ConfigMap `c` and Secret `s` of the namespace `default`. */
function objects({ data, binary, secret }: Content): LocalObjects {
  const metadata = { namespace: "default", labels: {}, annotations: {} };
  const encoded = (texts: Record<string, string> = {}): Record<string, Uint8Array> =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, bytes(text)]));
  const configMap: ConfigMap = {
    kind: "ConfigMap",
    metadata: { ...metadata, name: "c" },
    data: data ?? {},
    binaryData: encoded(binary),
    immutable: false,
  };
  const held: Secret = {
    kind: "Secret",
    metadata: { ...metadata, name: "s" },
    type: "Opaque",
    data: encoded(secret),
    immutable: false,
  };
  const has = (there: boolean, namespace: string): boolean => there && namespace === "default";
  return {
    configMap: (namespace, name) =>
      has(data !== undefined && name === "c", namespace) ? configMap : undefined,
    secret: (namespace, name) =>
      has(secret !== undefined && name === "s", namespace) ? held : undefined,
    claim: () => undefined,
  };
}

const KEY = { name: "c", key: "k", optional: false };
const ENV: Partial<Container> = {
  env: [{ name: "A", valueFrom: { type: "configMapKeyRef", ...KEY } }],
};
const SECRET_ENV: Partial<Container> = {
  env: [{ name: "A", valueFrom: { type: "secretKeyRef", ...KEY, name: "s" } }],
};
const FROM: Partial<Container> = {
  envFrom: [{ type: "configMap", name: "c", prefix: "", optional: false }],
};
const VOLUMES: readonly Volume[] = [
  { name: "c", configMap: { ...all("c"), defaultMode: 0o644 } },
  {
    name: "items",
    configMap: {
      ...all("c"),
      items: [{ key: "k", path: "conf/k.txt" }],
      defaultMode: 0o644,
    },
  },
  {
    name: "p",
    projected: { defaultMode: 0o644, sources: [{ type: "secret", ...all("s") }] },
  },
  { name: "e", emptyDir: { medium: "" } },
];
const mount = (name: string, more: object): Partial<Container> => ({
  volumeMounts: [{ name, mountPath: "/m", readOnly: false, ...more }],
});

function inputs(container: Partial<Container>, content: Content): string | undefined {
  const reader = aContainer("a", container);
  const pod = aPod({ containers: [reader], volumes: VOLUMES });
  const value = configInputs(pod, reader, objects(content));
  return value === undefined ? undefined : canonicalJson(value);
}

describe("what a container reads for good", () => {
  test.each([
    ["that refers to nothing", {}],
    ["with a plain variable", { env: [{ name: "A", value: "x" }] }],
    ["with a mount of a whole ConfigMap, which follows a change by itself", mount("c", {})],
    ["with a part of a volume of its own", mount("e", { subPath: "x" })],
    ["with a part of a volume that is not there", mount("none", { subPath: "x" })],
  ] as const)("a container %s reads nothing", (_sentence, container) => {
    expect(inputs(container as Partial<Container>, { data: { k: "1" } })).toBeUndefined();
  });

  type Change = readonly [sentence: string, container: Partial<Container>, a: Content, b: Content];
  const changes: readonly Change[] = [
    ["the value of a variable", ENV, { data: { k: "1" } }, { data: { k: "2" } }],
    ["a key that appears", ENV, { data: {} }, { data: { k: "" } }],
    ["an object that appears", FROM, {}, { data: {} }],
    ["a Secret's value", SECRET_ENV, { secret: { k: "1" } }, { secret: { k: "2" } }],
    ["any key that becomes a variable", FROM, { data: { x: "1" } }, { data: { x: "2" } }],
    ["a mounted part", mount("c", { subPath: "k" }), { data: { k: "1" } }, { data: { k: "2" } }],
    [
      "bytes of a mounted part",
      mount("c", { subPath: "k" }),
      { data: {}, binary: { k: "1" } },
      { data: {}, binary: { k: "2" } },
    ],
    [
      "a file below a mounted directory",
      mount("items", { subPath: "./conf/" }),
      { data: { k: "1" } },
      { data: { k: "2" } },
    ],
    [
      "a part of several sources",
      mount("p", { subPath: "k" }),
      { secret: { k: "1" } },
      { secret: { k: "2" } },
    ],
    [
      "a part that the environment names",
      mount("c", { subPathExpr: "$(WHICH)" }),
      { data: { x: "1" } },
      { data: { x: "2" } },
    ],
  ];
  test.each(changes)("%s counts", (_sentence, container, a, b) => {
    expect(inputs(container, a)).not.toBe(inputs(container, b) as string);
    expect(inputs(container, a)).toBe(inputs(container, { ...a }) as string);
  });

  const equal: readonly Change[] = [
    ["another key", ENV, { data: { k: "1", x: "1" } }, { data: { k: "1", x: "2" } }],
    [
      "bytes, of which no variable is made",
      FROM,
      { data: { k: "1" }, binary: { x: "1" } },
      { data: { k: "1" }, binary: { x: "2" } },
    ],
    [
      "an object that comes and has nothing to do with the mounted part",
      mount("p", { subPath: "x" }),
      {},
      { secret: { k: "1" } },
    ],
    [
      "a file beside the mounted part",
      mount("c", { subPath: "k" }),
      { data: { k: "1", "k.bak": "1" } },
      { data: { k: "1", "k.bak": "2" } },
    ],
    [
      "a key that the volume leaves out",
      mount("items", { subPath: "conf" }),
      { data: { k: "1", x: "1" } },
      { data: { k: "1", x: "2" } },
    ],
    ["the order of keys", FROM, { data: { a: "1", b: "2" } }, { data: { b: "2", a: "1" } }],
  ];
  test.each(equal)("%s does not count", (_sentence, container, a, b) => {
    expect(inputs(container, a)).toBe(inputs(container, b) as string);
  });
});
