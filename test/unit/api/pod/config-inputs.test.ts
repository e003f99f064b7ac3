import { describe, expect, test } from "bun:test";

import { canonicalJson } from "../../../../src/lib/json.ts";
import type { ConfigMap } from "../../../../src/api/v1/object/config-map.ts";
import type { Secret } from "../../../../src/api/v1/object/secret.ts";
import type { LocalObjects } from "../../../../src/api/v1/object/local-object.ts";
import { configInputs } from "../../../../src/api/pod/config-inputs.ts";
import type { ObjectProjection } from "../../../../src/api/v1/projected-volumes.ts";
import type { Volume } from "../../../../src/api/v1/volumes.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const all = (name: string): ObjectProjection => ({ name, items: [], optional: false });

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
