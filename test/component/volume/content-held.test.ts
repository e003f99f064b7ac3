// What running containers hold of a volume that the agent fills, while its objects change.

import { describe, expect, test } from "bun:test";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Pod } from "../../../src/api/v1/pod.ts";
import type { Volume } from "../../../src/api/v1/volumes.ts";
import { prepareSubPath } from "../../../src/volume/sub-path.ts";
import { aContainer, aPod, UID } from "../../fakes/a-pod.ts";
import { volumeWorlds, type VolumeWorld } from "./volume-world.ts";
import type { Container } from "../../../src/api/v1/container.ts";
import type { VolumeMount } from "../../../src/api/v1/volume-mounts.ts";

const newWorld = volumeWorlds();

function configMap(items: Readonly<Record<string, string>>): Volume {
  const paths = Object.entries(items).map(([key, path]) => ({ key, path }));
  return {
    name: "cfg",
    configMap: { name: "app", items: paths, optional: false, defaultMode: 0o644 },
  };
}

const SECRET: Volume = {
  name: "sec",
  secret: { name: "cert", items: [], optional: false, defaultMode: 0o644 },
};

function mount(name: string, mountPath: string, more: Partial<VolumeMount> = {}): VolumeMount {
  return { name, mountPath, readOnly: true, ...more };
}

function podOf(volumes: readonly Volume[], ...containers: Container[]): Pod {
  return aPod({ volumes: [...volumes], containers });
}

function names(root: string): readonly string[] {
  return readdirSync(root).toSorted();
}

describe("a directory of a ConfigMap that a container mounts alone", () => {
  const volumes = [configMap({ a: "conf.d/a", b: "b" })];
  const pod = podOf(
    volumes,
    aContainer("web", { volumeMounts: [mount("cfg", "/d", { subPath: "conf.d" })] }),
  );

  function mounted(): {
    readonly world: VolumeWorld;
    readonly root: string;
    readonly again: () => string;
  } {
    const world = newWorld();
    world.objects.setConfigMap("app", { a: "1", b: "1" });
    const root = world.volumes.setUp(pod).get("cfg") ?? "";
    const part = { uid: UID, container: "web", index: 0, volumeName: "cfg", volumePath: root };
    const again = (): string =>
      prepareSubPath(world, { ...part, subPath: "conf.d", readOnly: true });
    return { world, root, again };
  }

  test("stays what it was while other keys change, again and again", () => {
    const { world, root, again } = mounted();
    const shown = again();
    for (const b of ["2", "3", "4"]) {
      world.objects.setConfigMap("app", { a: b, b });
      expect(world.volumes.refresh(pod).changed).toEqual(["cfg"]);
      expect(readFileSync(join(shown, "a"), "utf8")).toBe("1");
      expect(readFileSync(join(root, "b"), "utf8")).toBe(b);
    }
    // Of those in between nobody sees anything.
    expect(names(root)).toEqual(["..1", "..4", "..data", "b", "conf.d"]);
  });

  test("is let go of when the container mounts a newer one", () => {
    const { world, root, again } = mounted();
    again();
    world.objects.setConfigMap("app", { a: "2", b: "2" });
    world.volumes.refresh(pod);
    expect(readFileSync(join(again(), "a"), "utf8")).toBe("2");
    world.volumes.refresh(pod);
    expect(names(root)).toEqual(["..2", "..data", "b", "conf.d"]);
  });
});

test("a file that is mounted alone stays by itself, and holds no version", () => {
  const pod = podOf(
    [configMap({})],
    aContainer("web", { volumeMounts: [mount("cfg", "/a", { subPath: "a" })] }),
  );
  const world = newWorld();
  world.objects.setConfigMap("app", { a: "1" });
  const volumePath = world.volumes.setUp(pod).get("cfg") ?? "";
  const part = { uid: UID, container: "web", index: 0, volumeName: "cfg", volumePath };
  const shown = prepareSubPath(world, { ...part, subPath: "a", readOnly: true });
  world.objects.setConfigMap("app", { a: "2" });
  expect(world.volumes.refresh(pod).changed).toEqual(["cfg"]);
  expect(readFileSync(shown, "utf8")).toBe("1");
  expect(names(volumePath)).toEqual(["..2", "..data", "a"]);
});

describe("before a container starts", () => {
  const parts = mount("cfg", "/d", { subPath: "b" });
  const reader = aContainer("reader", { volumeMounts: [parts] });
  const other = aContainer("other", { volumeMounts: [mount("sec", "/s", { subPath: "key" })] });
  const volumes = [configMap({}), SECRET];

  test("only what it mounts parts of is looked at", () => {
    const pod = podOf(volumes, reader, other);
    const world = newWorld();
    world.objects.setSecret("cert", { key: "k" });
    world.objects.setConfigMap("app", { b: "1" });
    world.volumes.setUp(pod);
    world.objects.remove("configmap default/app");
    world.objects.setSecret("cert", { key: "new" });
    expect(world.volumes.refresh(pod, other)).toEqual({ changed: ["sec"], problems: [] });
    expect(world.volumes.refresh(pod, reader).problems).toEqual([
      expect.stringContaining('volume "cfg": configmap "app" not found'),
    ]);
    expect(world.volumes.refresh(pod).problems).toHaveLength(1);
  });

  test("that mounts volumes as a whole, none is, gone or not", () => {
    const inside = mount("sec", "/d/certs");
    const whole = aContainer("whole", { volumeMounts: [mount("cfg", "/d"), inside] });
    const pod = podOf(volumes, whole);
    const world = newWorld();
    world.objects.setSecret("cert", { key: "k" });
    world.objects.setConfigMap("app", { b: "1" });
    world.volumes.setUp(pod);
    for (const change of [
      () => world.objects.setConfigMap("app", { b: "2" }),
      () => world.objects.remove("configmap default/app"),
    ]) {
      change();
      expect(world.volumes.refresh(pod, whole)).toEqual({ changed: [], problems: [] });
    }
  });
});
