import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  statfsSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import type { Pod } from "../../../src/api/v1/pod.ts";
import type { ProjectedSource } from "../../../src/api/v1/projected-volumes.ts";
import type { Volume } from "../../../src/api/v1/volumes.ts";
import { aContainer, aPod, UID } from "../../fakes/a-pod.ts";
import { crashingEdges } from "./crashing.ts";
import { volumeWorlds, type VolumeWorld } from "./volume-world.ts";

const newWorld = volumeWorlds();
const TMPFS = 0x01021994;

function configMap(
  name: string,
  more: Partial<Extract<Volume, { configMap: object }>["configMap"]> = {},
): Volume {
  return {
    name: "cfg",
    configMap: { name, items: [], optional: false, defaultMode: 0o644, ...more },
  };
}

function secret(
  name: string,
  more: Partial<Extract<Volume, { secret: object }>["secret"]> = {},
): Volume {
  return { name: "sec", secret: { name, items: [], optional: false, defaultMode: 0o644, ...more } };
}

function projected(...sources: ProjectedSource[]): Volume {
  return { name: "all", projected: { sources, defaultMode: 0o444 } };
}

const LABELS: Volume = {
  name: "labels",
  downwardAPI: {
    items: [{ path: "app", fieldRef: { fieldPath: "metadata.labels['app']" } }],
    defaultMode: 0o644,
  },
};

function fsGroup(group: number): Partial<Pod["spec"]> {
  return { securityContext: { supplementalGroups: [], sysctls: [], fsGroup: group } };
}

function read(world: VolumeWorld, pod: Pod, name: string): Record<string, string> {
  const root = world.volumes.setUp(pod).get(name) ?? "";
  return Object.fromEntries(
    readdirSync(root)
      .filter((file) => !file.startsWith(".."))
      .map((file) => [file, readFileSync(join(root, file), "utf8")]),
  );
}

function contentOf({ podDir }: VolumeWorld): string {
  return join(podDir, "volumes/content");
}

function mode(path: string): number {
  return statSync(path).mode & 0o7777;
}

describe("a configMap", () => {
  test("is files in memory, in a directory that only root can reach and everybody could read", () => {
    const world = newWorld();
    world.objects.setConfigMap("app", { "app.conf": "x=1" }, { logo: new Uint8Array([0, 255]) });
    const pod = aPod({ volumes: [configMap("app")] });
    const path = world.volumes.setUp(pod).get("cfg") ?? "";
    expect(path).toBe(join(contentOf(world), "cfg"));
    expect(readFileSync(join(path, "app.conf"), "utf8")).toBe("x=1");
    expect([...readFileSync(join(path, "logo"))]).toEqual([0, 255]);
    expect(statfsSync(path).type).toBe(TMPFS);
    const modes = [path, join(path, "app.conf"), contentOf(world), world.podDir].map(mode);
    expect(modes).toEqual([0o755, 0o644, 0o700, 0o750]);
  });

  test("that is set up again is not written again", () => {
    const world = newWorld();
    world.objects.setConfigMap("app", { a: "1" });
    const pod = aPod({ volumes: [configMap("app")] });
    world.volumes.setUp(pod);
    const edges = crashingEdges(world, { at: 0, halfway: false });
    world.again({ files: edges.files }).setUp(pod);
    expect(edges.died()).toBe(false);
  });

  test("that is not there is waited for by name, and found the moment it is", () => {
    const world = newWorld();
    const pod = aPod({ volumes: [configMap("app")] });
    expect(() => world.volumes.setUp(pod)).toThrow(
      expect.objectContaining({
        reason: "CreateContainerConfigError",
        message:
          'volume "cfg": configmap "app" not found in namespace "default": no manifest or desired document that this pod may use has it',
      }),
    );
    world.objects.setConfigMap("app", { a: "1" });
    expect(read(world, pod, "cfg")).toEqual({ a: "1" });
  });

  test("every volume that waits is named", () => {
    const world = newWorld();
    world.objects.setConfigMap("there", { a: "1" });
    const items = [{ key: "b", path: "b" }];
    const volumes = [configMap("there", { items }), secret("tls")];
    expect(() => world.volumes.setUp(aPod({ volumes }))).toThrow(
      'volume "cfg": configmap "there" has no key "b"; volume "sec": secret "tls" not found in namespace "default"',
    );
  });

  test("that is optional and not there is empty, and filled later", () => {
    const world = newWorld();
    const pod = aPod({ volumes: [configMap("app", { optional: true })] });
    expect(read(world, pod, "cfg")).toEqual({});
    world.objects.setConfigMap("app", { a: "1" });
    expect(world.volumes.refresh(pod)).toEqual({ changed: ["cfg"], problems: [] });
    expect(read(world, pod, "cfg")).toEqual({ a: "1" });
  });

  test("that goes stays shown to pods that have it, also to their next container", () => {
    const world = newWorld();
    world.objects.setConfigMap("app", { a: "1" });
    const pod = aPod({ volumes: [configMap("app")] });
    world.volumes.setUp(pod);
    world.objects.remove("configmap default/app");
    expect(read(world, pod, "cfg")).toEqual({ a: "1" });
    const { changed, problems } = world.volumes.refresh(pod);
    expect([changed, problems]).toEqual([
      [],
      [expect.stringContaining('volume "cfg": configmap "app" not found in namespace "default"')],
    ]);
  });

  test("has directories where other volumes are mounted inside of it", () => {
    const world = newWorld();
    world.objects.setConfigMap("app", { a: "1" });
    const volumeMounts = [
      { name: "cfg", mountPath: "/etc/app", readOnly: false },
      { name: "certs", mountPath: "/etc/app/certs", readOnly: false },
    ];
    const pod = aPod({
      volumes: [configMap("app")],
      containers: [aContainer("a", { volumeMounts })],
    });
    const path = world.volumes.setUp(pod).get("cfg") ?? "";
    expect(statSync(join(path, "certs")).isDirectory()).toBe(true);
  });
});

describe("a secret", () => {
  test("never touches a disk", () => {
    const world = newWorld();
    world.objects.setSecret("tls", { key: "hunter2" });
    const pod = aPod({ volumes: [secret("tls", { defaultMode: 0o400 })] });
    const path = world.volumes.setUp(pod).get("sec") ?? "";
    expect(statfsSync(path).type).toBe(TMPFS);
    expect([path, join(path, "key"), contentOf(world)].map(mode)).toEqual([0o755, 0o400, 0o700]);
    expect(readFileSync(join(path, "key"), "utf8")).toBe("hunter2");
    world.volumes.setUp(pod);
    expect(world.mounts.mountsUnder(world.podDir)).toEqual([contentOf(world)]);
    world.mounts.unmount(contentOf(world));
    expect(readdirSync(contentOf(world))).toEqual([]);
  });

  test("is neither refreshed nor kept where its memory has gone with a reboot", () => {
    const world = newWorld();
    world.objects.setSecret("tls", { key: "1" });
    const pod = aPod({ volumes: [secret("tls")] });
    world.volumes.setUp(pod);
    world.mounts.unmount(contentOf(world));
    world.objects.setSecret("tls", { key: "2" });
    expect(world.volumes.refresh(pod)).toEqual({ changed: [], problems: [] });
    expect(readdirSync(contentOf(world))).toEqual([]);
    world.objects.remove("secret default/tls");
    expect(() => world.volumes.setUp(pod)).toThrow('secret "tls" not found');
    world.objects.setSecret("tls", { key: "3" });
    expect(read(world, pod, "sec")).toEqual({ key: "3" });
    expect(world.mounts.isMountPoint(contentOf(world))).toBe(true);
  });

  test("is not refreshed on the disk below it, whatever lies there", () => {
    const world = newWorld();
    world.objects.setSecret("tls", { key: "1" });
    const pod = aPod({ volumes: [secret("tls")] });
    const path = world.volumes.setUp(pod).get("sec") ?? "";
    world.mounts.unmount(contentOf(world));
    mkdirSync(path);
    symlinkSync("..1", join(path, "..data"));
    expect(world.volumes.refresh(pod).changed).toEqual([]);
    expect(readdirSync(path)).toEqual(["..data"]);
  });

  test("among other sources is in memory too", () => {
    const world = newWorld();
    world.objects.setSecret("tls", { key: "s" });
    world.objects.setConfigMap("app", { key: "c", conf: "x" });
    const of = (name: string) => ({ name, items: [], optional: false });
    const both = projected({ type: "secret", ...of("tls") }, { type: "configMap", ...of("app") });
    const pod = aPod({ volumes: [both] });
    expect(read(world, pod, "all")).toEqual({ key: "c", conf: "x" });
    const path = world.volumes.setUp(pod).get("all") ?? "";
    expect([statfsSync(path).type, mode(join(path, "key"))]).toEqual([TMPFS, 0o444]);
  });

  test.each([true, false])(
    "a crash at any call leaves nothing on the disk (halfway: %p)",
    (halfway) => {
      for (let at = 0; ; at += 1) {
        const world = newWorld();
        world.objects.setSecret("tls", { key: "hunter2", other: "x" });
        const pod = aPod({ volumes: [secret("tls")], ...fsGroup(77) });
        const edges = crashingEdges(world, { at, halfway });
        const dying = world.again({ files: edges.files, mounts: edges.mounts });
        try {
          dying.setUp(pod);
          expect(at).toBeGreaterThan(8);
          return;
        } catch (error) {
          expect(String(error)).toContain("crash");
        }
        for (const path of world.mounts.mountsUnder(world.podDir)) world.mounts.unmount(path);
        const grep = Bun.spawnSync(["grep", "-r", "hunter", world.stateDir]);
        expect(grep.stdout.toString()).toBe("");
        expect(read(world, pod, "sec")).toEqual({ key: "hunter2", other: "x" });
        world.volumes.tearDown(UID);
        expect(existsSync(world.podDir)).toBe(false);
      }
    },
  );
});

describe("fsGroup", () => {
  test.each(["cfg", "sec"])("may read all of volume %s, and write nothing", (name) => {
    const world = newWorld();
    world.objects.setConfigMap("o", { a: "1" });
    world.objects.setSecret("o", { a: "1" });
    const items = [{ key: "a", path: "dir/a", mode: 0o400 }];
    const volumes = [configMap("o", { items }), secret("o", { items })];
    const path = world.volumes.setUp(aPod({ volumes, ...fsGroup(4242) })).get(name) ?? "";
    const looked = ["", "dir", "dir/a"].map((below) => statSync(join(path, below)));
    expect(looked.map(({ gid }) => gid)).toEqual([4242, 4242, 4242]);
    expect(looked.map(({ mode: bits }) => bits & 0o7777)).toEqual([0o2755, 0o2755, 0o440]);
    const asGroup = (...command: string[]) =>
      Bun.spawnSync(["setpriv", "--reuid=1234", "--regid=4242", "--clear-groups", ...command], {
        cwd: path,
      });
    expect(asGroup("cat", "dir/a").stdout.toString()).toBe("1");
    expect(asGroup("touch", "dir/b").exitCode).not.toBe(0);
  });
});

test("all volumes that the agent fills share one mount", () => {
  const world = newWorld();
  world.objects.setConfigMap("o", { a: "1" });
  world.objects.setSecret("o", { a: "1" });
  const pod = aPod({ volumes: [configMap("o"), secret("o"), LABELS] }, { labels: { app: "x" } });
  world.volumes.setUp(pod);
  world.again({}).setUp(pod);
  expect(world.mounts.mountsUnder(world.podDir)).toEqual([contentOf(world)]);
  expect(readdirSync(contentOf(world)).toSorted()).toEqual(["cfg", "labels", "sec"]);
});

describe("a refresh", () => {
  test("changes what has changed, at once for every reader, and says which", () => {
    const world = newWorld();
    world.objects.setConfigMap("app", { a: "1" });
    world.objects.setSecret("tls", { key: "1" });
    const pod = aPod(
      { volumes: [configMap("app"), secret("tls"), LABELS] },
      { labels: { app: "x" } },
    );
    const paths = world.volumes.setUp(pod);
    expect(world.volumes.refresh(pod)).toEqual({ changed: [], problems: [] });
    world.objects.setSecret("tls", { key: "2" });
    expect(world.volumes.refresh(pod).changed).toEqual(["sec"]);
    expect(readFileSync(join(paths.get("sec") ?? "", "key"), "utf8")).toBe("2");
    const relabelled = { ...pod, metadata: { ...pod.metadata, labels: { app: "y" } } };
    expect(world.volumes.refresh(relabelled).changed).toEqual(["labels"]);
    expect(readFileSync(join(paths.get("labels") ?? "", "app"), "utf8")).toBe("y");
    expect(readlinkSync(join(paths.get("labels") ?? "", "..data"))).toBe("..2");
  });

  test("of a pod that was never set up does nothing", () => {
    const world = newWorld();
    world.objects.setConfigMap("app", { a: "1" });
    const pod = aPod({ volumes: [configMap("app"), LABELS] });
    expect(world.volumes.refresh(pod)).toEqual({ changed: [], problems: [] });
    expect(existsSync(world.podDir)).toBe(false);
  });

  test("of one volume goes on when another cannot be", () => {
    const world = newWorld();
    world.objects.setConfigMap("app", { a: "1" });
    world.objects.setSecret("tls", { key: "1" });
    const pod = aPod({ volumes: [configMap("app"), secret("tls")] });
    world.volumes.setUp(pod);
    world.objects.remove("configmap default/app");
    world.objects.setSecret("tls", { key: "2" });
    const { changed, problems } = world.volumes.refresh(pod);
    expect([changed, problems.length]).toEqual([["sec"], 1]);
  });
});

test("an image volume is left to the runtime", () => {
  const volume: Volume = { name: "img", image: { reference: "x", pullPolicy: "IfNotPresent" } };
  expect(newWorld().volumes.setUp(aPod({ volumes: [volume] })).size).toBe(0);
});
