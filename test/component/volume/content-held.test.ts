// What running containers hold of a volume that the agent fills, while its objects change: parts of it, and what is
// mounted inside of it.

import { describe, expect, test } from "bun:test";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Container, Pod } from "../../../src/api/pod.ts";
import type { Volume, VolumeMount } from "../../../src/api/volumes.ts";
import { SubPaths } from "../../../src/volume/sub-path.ts";
import { aContainer, aPod, UID } from "../../fakes/a-pod.ts";
import { volumeWorlds, type VolumeWorld } from "./volume-world.ts";

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
    const subPaths = new SubPaths(world);
    const part = { uid: UID, container: "web", index: 0, volumeName: "cfg", volumePath: root };
    const again = (): string => subPaths.prepare({ ...part, subPath: "conf.d", readOnly: true });
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

describe("a ConfigMap with something mounted inside of what it shows", () => {
  const CASES: Readonly<Record<string, readonly [Volume, readonly Volume[], VolumeMount]>> = {
    "in one of its directories": [
      configMap({ a: "conf/a" }),
      [{ name: "data", emptyDir: { medium: "" } }],
      mount("data", "/etc/app/conf/data"),
    ],
    "over one of its files": [
      configMap({ a: "app.conf" }),
      [SECRET],
      mount("sec", "/etc/app/app.conf", { subPath: "key" }),
    ],
  };

  test.each(Object.entries(CASES))("%s is as it was until it starts anew", (_name, facts) => {
    const [volume, others, inner] = facts;
    const web = aContainer("web", { volumeMounts: [mount("cfg", "/etc/app"), inner] });
    const pod = podOf([volume, ...others], web);
    const world = newWorld();
    world.objects.setSecret("cert", { key: "k" });
    world.objects.setConfigMap("app", { a: "1" });
    const root = world.volumes.setUp(pod).get("cfg") ?? "";
    world.objects.setConfigMap("app", { a: "2" });
    expect(world.volumes.refresh(pod)).toEqual({ changed: [], problems: [] });
    world.volumes.setUp(pod);
    expect(names(root)).toContain("..1");
    expect(world.volumes.refresh(pod, web)).toMatchObject({ changed: ["cfg"] });
    expect(names(root)).toContain("..2");
  });

  test("beside what it shows follows at once", () => {
    const web = aContainer("web", {
      volumeMounts: [mount("cfg", "/etc/app"), mount("sec", "/etc/app/certs")],
    });
    const pod = podOf([configMap({ a: "app.conf" }), SECRET], web);
    const world = newWorld();
    world.objects.setSecret("cert", { key: "k" });
    world.objects.setConfigMap("app", { a: "1" });
    const root = world.volumes.setUp(pod).get("cfg") ?? "";
    world.objects.setConfigMap("app", { a: "2" });
    expect(world.volumes.refresh(pod).changed).toEqual(["cfg"]);
    expect(readFileSync(join(root, "app.conf"), "utf8")).toBe("2");
  });

  test("by an init container follows at once", () => {
    const init = aContainer("init", {
      volumeMounts: [mount("cfg", "/etc/app"), mount("sec", "/etc/app/conf/certs")],
    });
    const web = aContainer("web", { volumeMounts: [mount("cfg", "/etc/app")] });
    const volumes = [configMap({ a: "conf/a" }), SECRET];
    const pod = aPod({ volumes, initContainers: [init], containers: [web] });
    const world = newWorld();
    world.objects.setSecret("cert", { key: "k" });
    world.objects.setConfigMap("app", { a: "1" });
    world.volumes.setUp(pod);
    world.objects.setConfigMap("app", { a: "2" });
    expect(world.volumes.refresh(pod).changed).toEqual(["cfg"]);
  });

  test("that comes to show what is mounted beside it is as it was too", () => {
    const web = aContainer("web", {
      volumeMounts: [mount("cfg", "/etc/app"), mount("sec", "/etc/app/b")],
    });
    const pod = podOf([configMap({}), SECRET], web);
    const world = newWorld();
    world.objects.setSecret("cert", { key: "k" });
    world.objects.setConfigMap("app", { a: "1" });
    const root = world.volumes.setUp(pod).get("cfg") ?? "";
    world.objects.setConfigMap("app", { a: "2", b: "in the way" });
    expect(world.volumes.refresh(pod).changed).toEqual([]);
    expect(readFileSync(join(root, "a"), "utf8")).toBe("1");
  });
});

describe("before a container starts", () => {
  const parts = mount("cfg", "/d", { subPath: "b" });
  const reader = aContainer("reader", { volumeMounts: [parts] });
  const other = aContainer("other", { volumeMounts: [mount("sec", "/s", { subPath: "key" })] });
  const volumes = [configMap({}), SECRET];

  test("only what it reads then is looked at", () => {
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

  test("that mounts volumes as a whole, none is", () => {
    const whole = aContainer("whole", { volumeMounts: [mount("cfg", "/d")] });
    const pod = podOf(volumes, whole);
    const world = newWorld();
    world.objects.setSecret("cert", { key: "k" });
    world.objects.setConfigMap("app", { b: "1" });
    world.volumes.setUp(pod);
    world.objects.setConfigMap("app", { b: "2" });
    expect(world.volumes.refresh(pod, whole)).toEqual({ changed: [], problems: [] });
  });
});
