import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pod } from "../../../src/api/v1/pod.ts";
import type { Volume } from "../../../src/api/v1/volumes.ts";
import { prepareSubPath } from "../../../src/volume/sub-path.ts";
import { aPod, UID } from "../../fakes/a-pod.ts";
import { crashingEdges } from "./crashing.ts";
import { volumeWorlds, type VolumeWorld } from "./volume-world.ts";

const newWorld = volumeWorlds();

/** One of each kind that leaves something on the host. */
const VOLUMES: readonly Volume[] = [
  { name: "disk", emptyDir: { medium: "" } },
  { name: "shm", emptyDir: { medium: "Memory" } },
  { name: "sec", secret: { name: "tls", items: [], optional: false, defaultMode: 0o400 } },
  { name: "cfg", configMap: { name: "app", items: [], optional: false, defaultMode: 0o644 } },
  { name: "data", persistentVolumeClaim: { claimName: "db", readOnly: false } },
];

function aWorld(): { world: VolumeWorld; pod: Pod; host: string } {
  const world = newWorld();
  const host = join(world.root, "host");
  mkdirSync(join(host, "sub"), { recursive: true });
  writeFileSync(join(host, "sub/precious"), "x");
  world.objects.setSecret("tls", { key: "s" });
  world.objects.setConfigMap("app", { conf: "c" });
  world.objects.setClaim("db");
  const volumes = [...VOLUMES, { name: "host", hostPath: { path: host, type: "" as const } }];
  const securityContext = { supplementalGroups: [], sysctls: [], fsGroup: 77 };
  return { world, pod: aPod({ volumes, securityContext }), host };
}

type Edges = Pick<VolumeWorld, "files" | "mounts">;

function setUp({ world, pod }: { world: VolumeWorld; pod: Pod }, edges: Edges): void {
  const paths = world.again(edges).setUp(pod);
  writeFileSync(join(paths.get("data") ?? "", "precious"), "x");
  const host = { ...edges, stateDir: world.stateDir };
  const base = { uid: UID, container: "app", readOnly: false };
  const prepare = (volumeName: string, subPath: string, index: number) =>
    prepareSubPath(host, {
      ...base,
      volumeName,
      volumePath: paths.get(volumeName) ?? "",
      subPath,
      index,
    });
  prepare("data", ".", 0);
  prepare("host", "sub", 1);
  prepare("host", "sub/precious", 2);
  prepare("sec", "key", 3);
}

function expectKept({ world, host }: { world: VolumeWorld; host: string }): void {
  expect(readdirSync(join(host, "sub"))).toEqual(["precious"]);
  const data = join(world.claimRoot, "default/db");
  if (existsSync(data))
    expect(readdirSync(data)).toEqual(existsSync(join(data, "precious")) ? ["precious"] : []);
}

describe("tearing down", () => {
  test("removes every trace of a pod, and nothing of claims and of the host", () => {
    const all = aWorld();
    setUp(all, all.world);
    expect(all.world.mounts.mountsUnder(all.world.podDir)).toHaveLength(6);
    all.world.volumes.tearDown(UID);
    expect(existsSync(all.world.podDir)).toBe(false);
    expect(all.world.mounts.mountsUnder(all.world.stateDir)).toEqual([]);
    expectKept(all);
    expect(readdirSync(join(all.world.claimRoot, "default/db"))).toEqual(["precious"]);
  });

  test.each([false, true])(
    "after a set-up that crashed anywhere (halfway: %p)",
    (halfway) => {
      for (let at = 0; ; at += 1) {
        const all = aWorld();
        const edges = crashingEdges(all.world, { at, halfway });
        try {
          setUp(all, edges);
          expect(at).toBeGreaterThan(40);
          return;
        } catch {
          expect(edges.died()).toBe(true);
        }
        all.world.volumes.tearDown(UID);
        expect(existsSync(all.world.podDir)).toBe(false);
        expectKept(all);
      }
    },
    20_000,
  );

  test.each([false, true])(
    "that crashed anywhere is finished by the next (halfway: %p)",
    (halfway) => {
      for (let at = 0; ; at += 1) {
        const all = aWorld();
        setUp(all, all.world);
        const edges = crashingEdges(all.world, { at, halfway });
        try {
          all.world.again(edges).tearDown(UID);
          expect(at).toBeGreaterThan(8);
          return;
        } catch {
          expect(edges.died()).toBe(true);
        }
        expectKept(all);
        expect(all.world.volumes.leftovers()).toEqual([UID]);
        all.world.volumes.tearDown(UID);
        expect(existsSync(all.world.podDir)).toBe(false);
        expectKept(all);
      }
    },
    20_000,
  );

  test("of a large emptyDir goes in steps, and no claim or host directory with it", () => {
    const all = aWorld();
    setUp(all, all.world);
    const disk = join(all.world.podDir, "volumes/kubernetes.io~empty-dir/disk");
    for (let index = 0; index < 2000; index += 1) writeFileSync(join(disk, `f${index}`), "");
    expect([...all.world.volumes.emptyLargeVolumes(UID)].length).toBeGreaterThan(2);
    expect(existsSync(disk)).toBe(false);
    expectKept(all);
    expect(readdirSync(join(all.world.claimRoot, "default/db"))).toEqual(["precious"]);
    all.world.volumes.tearDown(UID);
    expect(existsSync(all.world.podDir)).toBe(false);
    expect([...all.world.volumes.emptyLargeVolumes(UID)]).toEqual([]);
  });

  test("of a bind that does not go removes nothing through it", () => {
    const all = aWorld();
    setUp(all, all.world);
    const mounts = { ...all.world.mounts, unmount: () => undefined };
    expect(() => all.world.again({ mounts }).tearDown(UID)).toThrow("is still mounted");
    const blind = { ...mounts, mountsUnder: () => [], isMountPoint: () => false };
    expect(() => all.world.again({ mounts: blind }).tearDown(UID)).toThrow("mount point");
    expectKept(all);
    expect(readdirSync(join(all.world.claimRoot, "default/db"))).toEqual(["precious"]);
  });

  test("leaves the host's own mount that was seen through a subPath", () => {
    const all = aWorld();
    // As systemd has it: what is mounted in one place appears in all that share it.
    all.world.mounts.tmpfs(all.host, { mode: 0o755 });
    expect(Bun.spawnSync(["mount", "--make-shared", all.host]).exitCode).toBe(0);
    const disk = join(all.host, "sub/disk");
    mkdirSync(disk, { recursive: true });
    writeFileSync(join(all.host, "sub/precious"), "x");
    setUp(all, all.world);
    all.world.mounts.tmpfs(disk, { mode: 0o755 });
    const seen = join(all.world.podDir, "volume-subpaths/host/app/1/disk");
    expect(all.world.mounts.isMountPoint(seen)).toBe(true);
    all.world.volumes.tearDown(UID);
    expect(existsSync(all.world.podDir)).toBe(false);
    expect(all.world.mounts.isMountPoint(disk)).toBe(true);
  });
});
