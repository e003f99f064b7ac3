import { describe, expect, test } from "bun:test";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import type { EnvVar } from "../../../../src/api/v1/environment.ts";
import type { ProjectedSource } from "../../../../src/api/v1/projected-volumes.ts";
import type { Volume } from "../../../../src/api/v1/volumes.ts";
import { configDigests, configText } from "../../../../src/runtime/decide/config-digest.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import { localObjects, type WrittenObjects } from "../../../fakes/local-objects.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const reads = (name: string, key: string, optional = false): EnvVar => ({
  name: "A",
  valueFrom: { type: "configMapKeyRef", name, key, optional },
});
const reader = (env: EnvVar): Partial<Container> => ({ env: [env] });

function digests(
  containers: Readonly<Record<string, Partial<Container>>>,
  objects: WrittenObjects,
  more: { readonly isSettled?: boolean; readonly spec?: Partial<PodSpec> } = {},
) {
  const all = Object.entries(containers).map(([name, spec]) => aContainer(name, spec));
  const pod = aPod({ containers: all, ...more.spec });
  return configDigests(pod, {
    objects: localObjects(objects),
    isSettled: more.isSettled ?? true,
    digest: (text) => `v1:key:${text}`,
  });
}

describe("what a container would read", () => {
  test("is computed for containers that read something, each with its own digest", () => {
    const containers = { a: reader(reads("web", "x")), b: reader(reads("web", "y")), c: {} };
    const found = digests(containers, { configMaps: { web: { x: "1", y: "2" } } });
    expect(Object.keys(found)).toEqual(["a", "b"]);
    expect(found["a"]).not.toEqual(found["b"]);
  });

  test("changes with what it reads, and with nothing else", () => {
    const of = (data: Record<string, string>) =>
      digests({ a: reader(reads("web", "x")) }, { configMaps: { web: data } })["a"];
    const digest = of({ x: "1" });
    expect(digest).toStartWith("v1:key:");
    expect(of({ x: "1", y: "2" })).toBe(digest);
    expect(of({ x: "2" })).not.toBe(digest);
  });

  test("is not known of any container while one that some container needs is missing", () => {
    const containers = { a: reader(reads("web", "x")), b: reader(reads("gone", "x")) };
    expect(digests(containers, { configMaps: { web: { x: "1" } } })).toEqual({});
  });

  test("is not known of a container while a key that it needs is missing", () => {
    const containers = { a: reader(reads("web", "gone")), b: reader(reads("web", "x")) };
    const found = digests(containers, { configMaps: { web: { x: "1" } } });
    expect(Object.keys(found)).toEqual(["b"]);
  });

  test("depends on the presence of an optional object", () => {
    const containers = { a: reader(reads("web", "x", true)) };
    const without = digests(containers, {});
    const found = digests(containers, { configMaps: { web: { x: "1" } } });
    expect(without["a"]).toBeDefined();
    expect(found["a"]).not.toBe(without["a"]);
  });

  test("is unknown while a source that has yet to sync may change what an object is", () => {
    const containers = { a: reader(reads("web", "x", true)) };
    expect(digests(containers, {}, { isSettled: false })).toEqual({});
    const configMaps = { web: { x: "1" } };
    expect(digests(containers, { configMaps }, { isSettled: false })).toEqual({});
    expect(digests(containers, { configMaps }, { isSettled: true })["a"]).toBeDefined();
  });

  describe("is not known of a container while the file that it mounts alone is missing:", () => {
    const files = { name: "web", items: [], optional: false, defaultMode: 0o644 };
    const configMaps = { web: { "app.conf": "1" } };
    const mounted = (subPath: string, volume: Volume): readonly string[] => {
      const volumeMounts = [{ name: "v", mountPath: "/m", readOnly: true, subPath }];
      const spec = { volumes: [volume] };
      return Object.keys(digests({ a: { volumeMounts }, b: {} }, { configMaps }, { spec }));
    };

    test.each([
      ["app.conf", ["a"]],
      ["./app.conf", ["a"]],
      ["app.cnof", []],
      ["app", []],
    ])("%s of a ConfigMap", (subPath, known) => {
      expect(mounted(subPath, { name: "v", configMap: files })).toEqual(known);
    });

    test.each([
      ["conf", ["a"]],
      ["conf/app", ["a"]],
      ["conf/b", []],
      ["app.conf", []],
    ])("%s of one that is mapped to paths", (subPath, known) => {
      const items = [{ key: "app.conf", path: "conf//app" }];
      expect(mounted(subPath, { name: "v", configMap: { ...files, items } })).toEqual(known);
    });

    test("its path is made of variables", () => {
      const of = (subPathExpr: string, env: readonly EnvVar[] = []) => {
        const volumeMounts = [{ name: "v", mountPath: "/m", readOnly: true, subPathExpr }];
        const spec = { volumes: [{ name: "v", configMap: files }] };
        return Object.keys(digests({ a: { env, volumeMounts } }, { configMaps }, { spec }));
      };
      const app: EnvVar = { name: "WHO", value: "app" };
      expect(of("app.conf")).toEqual(["a"]);
      expect(of("$(WHO).conf", [app])).toEqual(["a"]);
      expect(of("$(WHO).conf", [{ name: "WHO", value: "apq" }])).toEqual([]);
      expect(of("app.cnof")).toEqual([]);
      const ip: EnvVar = {
        name: "IP",
        valueFrom: { type: "fieldRef", fieldPath: "status.podIP" },
      };
      expect(of("$(IP)", [ip])).toEqual(["a"]);
    });

    test("one of the pod's own fields is there", () => {
      const sources: readonly ProjectedSource[] = [
        { type: "configMap", ...files },
        {
          type: "downwardAPI",
          items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }],
        },
      ];
      const volume = { name: "v", projected: { sources, defaultMode: 0o644 } };
      expect(mounted("name", volume)).toEqual(["a"]);
      expect(mounted("nmae", volume)).toEqual([]);
    });
  });

  describe("has the whole of a volume", () => {
    const files = { name: "web", items: [{ key: "x", path: "conf/x" }], optional: false };
    const volumes: readonly Volume[] = [
      { name: "v", configMap: { ...files, defaultMode: 0o644 } },
      { name: "data", emptyDir: { medium: "" } },
    ];
    const of = (mountPath: string, x: string) => {
      const volumeMounts = [
        { name: "v", mountPath: "/m", readOnly: true },
        { name: "data", mountPath, readOnly: false },
      ];
      return digests(
        { a: { volumeMounts } },
        { configMaps: { web: { x } } },
        { spec: { volumes } },
      );
    };

    test("in which something is mounted, which the next version takes away", () => {
      expect(of("/m/conf/data", "1")).not.toEqual(of("/m/conf/data", "2"));
      expect(of("/m/conf/data", "1")).toEqual(of("/m/conf/data", "1"));
    });

    test("only then", () => {
      expect(of("/m/other", "1")).toEqual({});
      expect(of("/elsewhere", "1")).toEqual({});
    });
  });

  test("does not need a claim that is there", () => {
    const claim = { claimName: "data", readOnly: false };
    const spec = { volumes: [{ name: "data", persistentVolumeClaim: claim }] };
    const configMaps = { web: { x: "1" } };
    expect(digests({ a: reader(reads("web", "x")) }, { configMaps }, { spec })).toEqual({});
  });
});

test("the text of a container that reads nothing is none", () => {
  expect(configText(aPod(), aContainer("a"), localObjects({}))).toBeUndefined();
});

describe("a long object that is referred to a thousand times", () => {
  const long = { web: { x: "v".repeat(900_000) } };
  const envFrom = Array.from({ length: 1000 }, () => ({
    type: "configMap" as const,
    name: "web",
    prefix: "",
    optional: false,
  }));

  test("is refused before it is written a thousand times", () => {
    const container = aContainer("a", { envFrom });
    const read = (): unknown =>
      configText(aPod({ containers: [container] }), container, localObjects({ configMaps: long }));
    expect(read).toThrow(
      "container a reads more than 16777216 bytes of ConfigMaps and Secrets at its start",
    );
  });

  test("restarts nothing, as what cannot start; the other containers have their digests", () => {
    const containers = { a: { envFrom }, b: reader(reads("web", "x")) };
    expect(Object.keys(digests(containers, { configMaps: long }))).toEqual(["b"]);
  });

  test("of many containers as many have digests as fit into 64 MiB", () => {
    const once = { envFrom: envFrom.slice(0, 1) };
    const containers = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`c${index}`, once]),
    );
    expect(Object.keys(digests(containers, { configMaps: long }))).toHaveLength(74);
  });
});
