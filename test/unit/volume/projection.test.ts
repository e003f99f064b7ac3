import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { NO_OBJECTS, type LocalObjects } from "../../../src/api/v1/object/local-object.ts";
import type { ObjectProjection, ProjectedSource } from "../../../src/api/v1/projected-volumes.ts";
import {
  projectVolume,
  type Projection,
  type ContentVolume,
} from "../../../src/volume/projection.ts";
import { aPod } from "../../fakes/a-pod.ts";

const metadata = { name: "o", namespace: "default", labels: {}, annotations: {} };
const bytes = (text: string) => new TextEncoder().encode(text);

/** ConfigMap and Secret of the same name; only "o" is there. */
function objects(data: Record<string, string>, binary: Record<string, string> = {}): LocalObjects {
  const encoded = (of: Record<string, string>) =>
    Object.fromEntries(Object.entries(of).map(([key, text]) => [key, bytes(text)]));
  return {
    configMap: (namespace, name) =>
      namespace === "default" && name === "o"
        ? { kind: "ConfigMap", metadata, data, binaryData: encoded(binary), immutable: false }
        : undefined,
    secret: (namespace, name) =>
      namespace === "default" && name === "o"
        ? {
            kind: "Secret",
            metadata,
            type: "Opaque",
            data: encoded({ ...data, ...binary }),
            immutable: false,
          }
        : undefined,
    claim: () => undefined,
  };
}

function of(more: Partial<ObjectProjection> = {}): ObjectProjection {
  return { name: "o", items: [], optional: false, ...more };
}

function configMap(more: Partial<ObjectProjection> = {}, defaultMode = 0o644): ContentVolume {
  return { name: "v", configMap: { ...of(more), defaultMode } };
}

function secret(more: Partial<ObjectProjection> = {}): ContentVolume {
  return { name: "v", secret: { ...of(more), defaultMode: 0o644 } };
}

function projected(...sources: ProjectedSource[]): ContentVolume {
  return { name: "v", projected: { sources, defaultMode: 0o444 } };
}

const downward = (path: string, fieldPath: string): ProjectedSource => ({
  type: "downwardAPI",
  items: [{ path, fieldRef: { fieldPath } }],
});

function project(
  volume: ContentVolume,
  has: LocalObjects = objects({ a: "1", b: "2" }),
): Projection {
  return projectVolume(volume, aPod(), {
    objects: () => has,
    renderDownward: (pod, { fieldRef }) =>
      fieldRef?.fieldPath === "metadata.name" ? pod.metadata.name : undefined,
  });
}

/** `path mode text`, or what is missing. */
function summary({ files, missing }: Projection): readonly string[] {
  if (missing.length > 0) return missing;
  return [...files].map(
    ([path, file]) => `${path} ${file.mode.toString(8)} ${new TextDecoder().decode(file.bytes)}`,
  );
}

const WHERE = "no manifest or desired document that this pod may use has it";

describe("a volume shows", () => {
  const cases: Record<string, [ContentVolume, readonly string[], LocalObjects?]> = {
    "every key of a configMap under its own name": [configMap(), ["a 644 1", "b 644 2"]],
    "binaryData beside data": [
      configMap(),
      ["a 644 1", "z 644 3"],
      objects({ a: "1" }, { z: "3" }),
    ],
    "every key of a secret": [secret(), ["a 644 1", "b 644 2"]],
    "only the items, at their paths, with their modes": [
      configMap(
        {
          items: [
            { key: "b", path: "dir/./b//c", mode: 0o400 },
            { key: "a", path: "x" },
          ],
        },
        0o600,
      ),
      ["dir/b/c 400 2", "x 600 1"],
    ],
    "one key at two paths": [
      configMap({
        items: [
          { key: "a", path: "x" },
          { key: "a", path: "y" },
        ],
      }),
      ["x 644 1", "y 644 1"],
    ],
    "an empty configMap as nothing": [configMap(), [], objects({})],
    "a missing configMap as an error that names its namespace": [
      configMap({ name: "gone" }),
      [`configmap "gone" not found in namespace "default": ${WHERE}`],
    ],
    "a missing secret likewise": [
      secret({ name: "gone" }),
      [`secret "gone" not found in namespace "default": ${WHERE}`],
    ],
    "a missing optional object as nothing": [secret({ name: "gone", optional: true }), []],
    "missing keys as an error each": [
      secret({
        items: [
          { key: "x", path: "x" },
          { key: "a", path: "a" },
          { key: "y", path: "y" },
        ],
      }),
      ['secret "o" has no key "x"', 'secret "o" has no key "y"'],
    ],
    "missing keys of what is optional as nothing": [
      configMap({
        optional: true,
        items: [
          { key: "x", path: "x" },
          { key: "a", path: "a" },
        ],
      }),
      ["a 644 1"],
    ],
    "no key of Object's own": [
      configMap({ items: [{ key: "constructor", path: "x" }] }),
      ['configmap "o" has no key "constructor"'],
    ],
    "fields of the pod": [
      {
        name: "v",
        downwardAPI: {
          items: [{ path: "n", mode: 0o440, fieldRef: { fieldPath: "metadata.name" } }],
          defaultMode: 0o644,
        },
      },
      ["n 440 web"],
    ],
    "a field that no pod has as an error": [
      projected(downward("n", "spec.unknown")),
      ['downwardAPI file "n": the pod has no spec.unknown'],
    ],
    "of two sources with one path the later": [
      projected(
        { type: "secret", ...of({ items: [{ key: "a", path: "x" }] }) },
        { type: "configMap", ...of({ items: [{ key: "b", path: "./x" }] }) },
      ),
      ["x 444 2"],
    ],
    "every error of every source": [
      projected({ type: "secret", ...of({ name: "gone" }) }, downward("n", "spec.unknown")),
      [
        `secret "gone" not found in namespace "default": ${WHERE}`,
        'downwardAPI file "n": the pod has no spec.unknown',
      ],
    ],
    "no file below a file": [
      projected(downward("a", "metadata.name"), downward("a/b", "metadata.name")),
      ['file "a/b": "a" is also a file'],
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [volume, expected, has]) => {
    expect(summary(project(volume, has))).toEqual([...expected]);
  });

  test("nothing while there are no objects at all", () => {
    expect(project(configMap(), NO_OBJECTS).missing).toHaveLength(1);
  });
});

test("no path of a file ever leads out of its volume", () => {
  const evil = fc.array(fc.constantFrom("..", ".", "", "a", "..data", "..1", "/"), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(
      evil.map((names) => names.join("/")),
      (path) => {
        const { files, missing } = project(configMap({ items: [{ key: "a", path }] }));
        expect(files.size + missing.length).toBe(1);
        for (const shown of files.keys()) {
          const names = shown.split("/");
          expect(names.some((name) => name === ".." || name === "." || name === "")).toBe(false);
          expect(names[0]?.startsWith("..")).toBe(false);
        }
      },
    ),
  );
});

describe("one key under many paths", () => {
  const mebibyte = objects({ big: "x".repeat(1024 * 1024) });
  const items = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ key: "big", path: `copy-${index}` }));

  test("is a volume up to 16 MiB", () => {
    const { files, missing } = project(configMap({ items: items(16) }), mebibyte);
    expect(files.size).toBe(16);
    expect(missing).toEqual([]);
  });

  test("is refused beyond that, with one message", () => {
    const { files, missing } = project(configMap({ items: items(1000) }), mebibyte);
    expect(files.size).toBeLessThanOrEqual(17);
    expect(missing).toEqual([
      "its files have more than 16777216 bytes together; list fewer items or use several volumes",
    ]);
  });
});
