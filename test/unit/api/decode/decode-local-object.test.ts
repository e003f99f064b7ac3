import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { decodeManifest } from "../../../../src/api/decode/decode-manifest.ts";
import { objectKey, type LocalObject } from "../../../../src/api/v1/object/local-object.ts";
import { sha256 } from "../digest.ts";
import { decode } from "../written-pod.ts";

const META = { labels: {}, annotations: {}, namespace: "default" };

function written(kind: string, more: object): object {
  return { apiVersion: "v1", kind, metadata: { name: "x" }, ...more };
}

function objectOf(value: object): LocalObject | undefined {
  const { objects, errors } = decode(value);
  expect(errors).toEqual([]);
  return objects[0]?.desired.object;
}

function refusals(value: object): readonly string[] {
  const { objects, errors } = decode(value);
  expect(objects).toEqual([]);
  return errors.map(({ code, path, message }) => `${code} ${path}: ${message}`);
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const claim = (spec: object): object =>
  written("PersistentVolumeClaim", {
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      ...spec,
    },
  });

describe("an object", () => {
  const cases: Readonly<Record<string, { readonly value: object; readonly object: unknown }>> = {
    "that is a ConfigMap holds text and bytes": {
      value: written("ConfigMap", {
        data: { "a.conf": "x=1\n", _b: null },
        binaryData: { bin: "AP8=\n" },
        immutable: true,
      }),
      object: {
        kind: "ConfigMap",
        metadata: { ...META, name: "x" },
        data: { "a.conf": "x=1\n", _b: "" },
        binaryData: { bin: new Uint8Array([0, 255]) },
        immutable: true,
      },
    },
    "that is an empty ConfigMap": {
      value: written("ConfigMap", {}),
      object: {
        kind: "ConfigMap",
        metadata: { ...META, name: "x" },
        data: {},
        binaryData: {},
        immutable: false,
      },
    },
    "that is a Secret is Opaque, and text goes before bytes": {
      value: written("Secret", {
        data: { a: "b2xk", b: "Yg==" },
        stringData: { a: "new" },
      }),
      object: {
        kind: "Secret",
        metadata: { ...META, name: "x" },
        type: "Opaque",
        data: { a: text("new"), b: text("b") },
        immutable: false,
      },
    },
    "that is a Secret of its owner's own type": {
      value: written("Secret", { type: "example.com/token", stringData: {} }),
      object: {
        kind: "Secret",
        metadata: { ...META, name: "x" },
        type: "example.com/token",
        data: {},
        immutable: false,
      },
    },
    "that is a claim": {
      value: claim({ storageClassName: "fast", volumeMode: "Filesystem" }),
      object: {
        kind: "PersistentVolumeClaim",
        metadata: { ...META, name: "x" },
        accessModes: ["ReadWriteOnce"],
        storage: "1Gi",
      },
    },
  };
  test.each(Object.entries(cases))("%s", (_sentence, { value, object }) => {
    expect(objectOf(value)).toEqual(object as LocalObject);
  });

  test("carries its source and itself as written", () => {
    const value = written("ConfigMap", { data: { a: "1" } });
    const [decoded] = decode(value, { source: "mqtt:node", sourceRef: "generation 3" }).objects;
    expect(decoded?.written).toBe(value as never);
    expect(decoded?.desired).toMatchObject({ source: "mqtt:node", sourceRef: "generation 3" });
  });

  test("may have a longer name than a pod", () => {
    const metadata = { name: "c".repeat(253), namespace: "shop" };
    expect(objectKey(objectOf({ ...written("ConfigMap", {}), metadata }) as LocalObject)).toBe(
      `ConfigMap shop/${"c".repeat(253)}`,
    );
  });

  test("pasted from kubectl is accepted as it is, without kubectl's copy of a Secret's content", () => {
    const metadata = {
      name: "x",
      uid: "1",
      creationTimestamp: "2024-01-01T00:00:00Z",
      resourceVersion: "5",
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{…}", note: "mine" },
    };
    expect(
      objectOf({ ...written("Secret", { data: {} }), metadata })?.metadata.annotations,
    ).toEqual({ note: "mine" });
  });
});

describe("a refused object", () => {
  const KEY = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  const HIDDEN = 'Invalid value: "<secret contents redacted>"';
  const secret = (type: string, data: object = {}): object =>
    written("Secret", { type: `kubernetes.io/${type}`, stringData: data });
  const cases: Readonly<Record<string, { readonly value: object; readonly says: string[] }>> = {
    "has no name": {
      value: { apiVersion: "v1", kind: "ConfigMap", metadata: {} },
      says: ["Required metadata.name: Required value"],
    },
    "has no metadata": {
      value: { apiVersion: "v1", kind: "Secret" },
      says: ["Required metadata: Required value"],
    },
    "is of another version": {
      value: { ...written("ConfigMap", {}), apiVersion: "v2" },
      says: ['Invalid apiVersion: Invalid value: "v2": must be "v1"'],
    },
    "has an unknown field": {
      value: written("ConfigMap", { dta: {} }),
      says: ["UnknownField dta: unknown field (did you mean data?)"],
    },
    "has a number where text belongs": {
      value: written("ConfigMap", { data: { port: 8080 } }),
      says: ["Invalid data[port]: Invalid value: 8080: must be a string; put it in quotes"],
    },
    "has a key that is a path": {
      value: written("ConfigMap", { data: { "a/b": "" } }),
      says: [`Invalid data[a/b]: Invalid value: "a/b": ${KEY}`],
    },
    "has a key that is no file name": {
      value: written("ConfigMap", { data: { ".": "", "..": "", "..x": "" } }),
      says: [
        `Invalid data[.]: Invalid value: ".": must not be '.'`,
        `Invalid data[..]: Invalid value: "..": must not be '..'`,
        `Invalid data[..x]: Invalid value: "..x": must not start with '..'`,
      ],
    },
    "has a key that is too long": {
      value: written("ConfigMap", { data: { ["k".repeat(254)]: "" } }),
      says: [
        `Invalid data[${"k".repeat(254)}]: Invalid value: "${"k".repeat(78)}…: must be no more than 253 characters`,
      ],
    },
    "has a key twice": {
      value: written("ConfigMap", { data: { a: "" }, binaryData: { a: "" } }),
      says: ['Invalid binaryData[a]: Invalid value: "a": duplicate of key present in data'],
    },
    "has bytes that are not base64": {
      value: written("ConfigMap", { binaryData: { a: "abc" } }),
      says: ['Invalid binaryData[a]: Invalid value: "abc": must be base64; text belongs in data'],
    },
    "is larger than 1 MiB": {
      value: written("ConfigMap", { data: { a: "x".repeat(2 ** 20), b: "x" } }),
      says: [
        'Invalid data[a]: Too long: data of 1,048,577 bytes, at most 1,048,576; the largest is data["a"] with 1,048,576',
      ],
    },
    "is a Secret larger than 1 MiB": {
      value: written("Secret", { stringData: { a: "é".repeat(2 ** 19), b: "x" } }),
      says: [
        'Invalid stringData[a]: Too long: data of 1,048,577 bytes, at most 1,048,576; the largest is stringData["a"] with 1,048,576',
      ],
    },
    "is a Secret whose bytes are not base64": {
      value: written("Secret", { data: { a: "hunter2!" } }),
      says: [`Invalid data[a]: ${HIDDEN}: must be base64; plain text belongs in stringData`],
    },
    "is a Secret with a number": {
      value: written("Secret", { stringData: { pin: 4711 } }),
      says: [`Invalid stringData[pin]: ${HIDDEN}: must be a string; put it in quotes`],
    },
    "is a Secret whose data is text": {
      value: written("Secret", { stringData: "hunter2", data: ["hunter2"] }),
      says: [
        `Invalid data: ${HIDDEN}: must be an object`,
        `Invalid stringData: ${HIDDEN}: must be an object`,
      ],
    },
    "is a registry's login without it": {
      value: secret("dockerconfigjson"),
      says: ["Required data[.dockerconfigjson]: Required value"],
    },
    "is a registry's login that is not JSON": {
      value: secret("dockerconfigjson", { ".dockerconfigjson": "{hunter2" }),
      says: [`Invalid data[.dockerconfigjson]: ${HIDDEN}: must be a JSON object`],
    },
    "is a registry's login that is nothing but brackets": {
      value: secret("dockerconfigjson", { ".dockerconfigjson": "[".repeat(100_000) }),
      says: [`Invalid data[.dockerconfigjson]: ${HIDDEN}: must be a JSON object`],
    },
    "is a registry's old login that is not JSON": {
      value: secret("dockercfg", { ".dockercfg": "5" }),
      says: [`Invalid data[.dockercfg]: ${HIDDEN}: must be a JSON object`],
    },
    "is a login without either part": {
      value: secret("basic-auth"),
      says: ["Required data[username]: Required value", "Required data[password]: Required value"],
    },
    "is a key without it": {
      value: secret("ssh-auth", { "ssh-privatekey": "" }),
      says: ["Required data[ssh-privatekey]: Required value"],
    },
    "is a certificate without its halves": {
      value: secret("tls"),
      says: ["Required data[tls.crt]: Required value", "Required data[tls.key]: Required value"],
    },
    "is a claim without a spec": {
      value: written("PersistentVolumeClaim", {}),
      says: ["Required spec: Required value"],
    },
    "is a claim without fields": {
      value: written("PersistentVolumeClaim", { spec: {} }),
      says: [
        "Required spec.accessModes: Required value: at least 1 access mode is required",
        "Required spec.resources.requests[storage]: Required value",
      ],
    },
    "is a claim with an unknown mode": {
      value: claim({ accessModes: ["RWO"] }),
      says: [
        'Invalid spec.accessModes: Unsupported value: "RWO": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
      ],
    },
    "is a claim for one pod and for many": {
      value: claim({ accessModes: ["ReadWriteOncePod", "ReadOnlyMany"] }),
      says: [
        "Invalid spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
      ],
    },
    "is a claim for nothing": {
      value: claim({ resources: { requests: { storage: 0 } } }),
      says: [
        "Invalid spec.resources.requests[storage]: Invalid value: 0: must be greater than zero",
      ],
    },
    "is a claim of a block device": {
      value: claim({ volumeMode: "Block" }),
      says: [
        "Unsupported spec.volumeMode: there are no block volumes on this node; use Filesystem",
      ],
    },
  };
  test.each(Object.entries(cases))("%s", (_sentence, { value, says }) => {
    expect(refusals(value)).toEqual(says);
  });
});

test.each([
  ["dockerconfigjson", { ".dockerconfigjson": '{"auths":{}}' }],
  ["dockercfg", { ".dockercfg": "{}" }],
  ["basic-auth", { username: "" }],
  ["basic-auth", { password: "x" }],
  ["ssh-auth", { "ssh-privatekey": "x" }],
  ["tls", { "tls.crt": "", "tls.key": "" }],
])("a Secret of the type %s with its keys is accepted", (type, stringData) => {
  const value = written("Secret", { type: `kubernetes.io/${type}`, stringData });
  expect(objectOf(value)?.kind).toBe("Secret");
});

describe("lists", () => {
  test("of one kind hold items without apiVersion and kind", () => {
    const metadata = { name: "x" };
    for (const kind of ["ConfigMap", "Secret"]) {
      const { objects } = decode({ apiVersion: "v1", kind: `${kind}List`, items: [{ metadata }] });
      expect(objects.map(({ desired }) => desired.object.kind)).toEqual([kind as "Secret"]);
    }
  });

  test("hold objects and lists of one kind beside pods", () => {
    const items = [
      written("ConfigMap", {}),
      { apiVersion: "v1", kind: "SecretList", items: [written("Secret", {})] },
      claim({}),
      written("Service", {}),
    ];
    const decoded = decode({ apiVersion: "v1", kind: "List", items });
    expect(decoded.objects.map(({ desired }) => desired.object.kind)).toEqual([
      "ConfigMap",
      "Secret",
      "PersistentVolumeClaim",
    ]);
    expect(decoded.ignoredKinds.map(({ kind }) => kind)).toEqual(["Service"]);
  });

  test("of one kind hold no lists", () => {
    const inner = { apiVersion: "v1", kind: "SecretList", items: [] };
    const { errors } = decode({ apiVersion: "v1", kind: "SecretList", items: [inner] });
    expect(errors.map(({ message }) => message)).toEqual(["a list cannot hold lists"]);
  });
});

test("an unquoted yes is no text, and shows nothing of a Secret", () => {
  const context = { source: "file", ref: "/m", nodeName: "pi-1", sha256 } as const;
  const messagesOf = (kind: string, field: string): readonly string[] => {
    const manifest = `apiVersion: v1\nkind: ${kind}\nmetadata: {name: x}\n${field}:\n  a: yes\n`;
    return decodeManifest(manifest, context).errors.map(
      ({ path, message }) => `${path}: ${message}`,
    );
  };
  expect(messagesOf("ConfigMap", "data")).toEqual([
    'data[a]: Invalid value: true: must be a string; write "yes"',
  ]);
  expect(messagesOf("Secret", "stringData")).toEqual([
    'stringData[a]: Invalid value: "<secret contents redacted>": must be a string; put it in quotes',
  ]);
});

test("a misspelt kind is refused with a suggestion", () => {
  const { errors, ignoredKinds } = decode(written("ConfigMaps", {}));
  expect(ignoredKinds).toEqual([]);
  expect(errors.map(({ message }) => message)).toEqual([
    'unknown kind "ConfigMaps" (did you mean ConfigMap?)',
  ]);
});

describe("a checkpoint is read leniently", () => {
  test("what a newer agent would refuse is still there", () => {
    const value = written("Secret", {
      type: "kubernetes.io/tls",
      stringData: { a: "x", "b/c": "y", d: 5 },
      bogus: 1,
    });
    const { objects, errors, notices } = decode(value, { lenient: true });
    expect([errors, notices]).toEqual([[], []]);
    expect(objects[0]?.desired.object).toMatchObject({ data: { a: text("x"), "b/c": text("y") } });
  });

  test("without a name it is nothing", () => {
    expect(decode({ kind: "Secret", metadata: {} }, { lenient: true }).objects).toEqual([]);
  });
});

test("errors about a Secret never contain its content", () => {
  const marker = "hunter2";
  const content = fc.constantFrom<unknown>(
    marker,
    `${marker}!`,
    `{"${marker}":`,
    [marker],
    { [`k${marker}`]: marker },
    7_731_927,
    true,
    null,
    `${marker}\0`,
  );
  const data = fc.oneof(
    content,
    fc.dictionary(fc.constantFrom("a", "..", "tls.crt", ".dockerconfigjson", "a/b"), content),
  );
  const type = fc.constantFrom(
    "Opaque",
    "kubernetes.io/dockerconfigjson",
    "kubernetes.io/dockercfg",
    "kubernetes.io/tls",
    "kubernetes.io/service-account-token",
  );
  fc.assert(
    fc.property(data, data, type, (encoded, plain, kind) => {
      const copy = { "kubectl.kubernetes.io/last-applied-configuration": { data: encoded } };
      const value = {
        ...written("Secret", { type: kind, data: encoded, stringData: plain }),
        metadata: { name: "x", annotations: copy },
      };
      const locate = () => ({ line: 1, column: 1, text: "yes" });
      const { errors, notices } = decode(value, { locate });
      const said = [...errors, ...notices].map(({ message }) => message).join("\n");
      expect(said.replaceAll(`k${marker}`, "")).not.toMatch(/hunter2|7731927/);
    }),
  );
});

test("annotations that have become text show nothing of kubectl's copy", () => {
  const annotations = `kubectl.kubernetes.io/last-applied-configuration '{"data":{"a":"hunter2"}}'`;
  const value = { ...written("Secret", { data: {} }), metadata: { name: "x", annotations } };
  expect(decode(value).errors.map(({ path, message }) => `${path}: ${message}`)).toEqual([
    'metadata.annotations: Invalid value: "<annotations redacted>": must be an object',
  ]);
});

test("a manifest that breaks YAML's syntax around a password does not show it", () => {
  for (const word of [
    "*S3cr3t",
    "!S3cr3t",
    "!!int S3cr3t",
    '"S3cr3t',
    "@S3cr3t",
    "[S3cr3t",
    "{S3cr3t: a: b}",
  ]) {
    const manifest = `apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData:\n  a: ${word}\n`;
    const context = { source: "file", ref: "/m", nodeName: "pi-1", sha256 } as const;
    const { errors } = decodeManifest(manifest, context);
    expect(errors.length).toBeGreaterThan(0);
    expect(JSON.stringify(errors)).not.toContain("S3cr3t");
  }
});
