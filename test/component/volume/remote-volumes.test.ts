// Volumes on file systems that may hang: a helper process makes every call on them, and can be given up.

import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { askVolumeHelper } from "../../../src/agent/volume-helper.ts";
import type { Pod } from "../../../src/api/v1/pod.ts";
import type { Volume } from "../../../src/api/v1/volumes.ts";
import { helperProcesses, SILENT_MS, type RunHelper } from "../../../src/host/helper-process.ts";
import type { HangableMount } from "../../../src/host/mount-table.ts";
import { hostPathError } from "../../../src/source/policy/host-path-links.ts";
import type { Volumes, VolumesOptions } from "../../../src/volume/volume-manager.ts";
import { aPod, UID } from "../../fakes/a-pod.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { laterRefusal } from "../../fakes/refusal.ts";
import { HungFileSystem, whyNoFuse } from "../../harness/hung-file-system.ts";
import { volumeWorlds, type VolumeWorld } from "./volume-world.ts";

const newWorld = volumeWorlds();
const NEVER = new AbortController().signal;
const GROUPED = { supplementalGroups: [], sysctls: [], fsGroup: 4242 };

interface Node {
  readonly world: VolumeWorld;
  readonly at: (path: string) => string;
  readonly clock: VirtualClock;
  readonly volumes: Volumes;
  /** How often a helper was asked. */
  readonly asked: () => number;
}

/** `hangs`: where a file system is that may hang, beside those of the kernel. */
function aNode(hangs?: string, more: Partial<VolumesOptions> = {}): Node {
  const world = newWorld();
  const at = (path: string): string => join(world.root, path);
  mkdirSync(at("nas"));
  const clock = new VirtualClock();
  const { stateDir, claimRoot, files } = world;
  const config = { ...CONFIG_DEFAULTS, stateDir, claimRoot };
  let asked = 0;
  const run = helperProcesses({ clock });
  const runHelper: RunHelper = (request, caller, signal) => {
    asked += 1;
    return run(request, caller, signal);
  };
  const hangable = (path: string): HangableMount | undefined => {
    const point = at(hangs ?? "none");
    const isThere = `${path}/`.startsWith(`${point}/`);
    return isThere ? { point, type: "nfs4" } : files.hangable(path);
  };
  const volumes = world.again({
    files: { ...files, hangable },
    askHelper: askVolumeHelper({ runHelper }, config),
    ...more,
  });
  return { world, at, clock, volumes, asked: () => asked };
}

function hostPath(path: string, type: "" | "Directory" | "DirectoryOrCreate" = ""): Volume {
  return { name: "v", hostPath: { path, type } };
}

async function setUp({ volumes }: Node, pod: Pod): Promise<string> {
  volumes.check(pod);
  await volumes.setUpRemote(pod, NEVER);
  for (const _ of volumes.shareLargeClaims(pod));
  const paths = volumes.setUp(pod);
  volumes.renewPaths(pod, paths);
  return paths.get("v") ?? "";
}

describe("a file system that may hang and answers", () => {
  test("gives a pod of a file the path as it is written", async () => {
    const node = aNode("nas");
    const volume = hostPath(node.at("nas/new"), "DirectoryOrCreate");
    expect(await setUp(node, aPod({ volumes: [volume] }))).toBe(node.at("nas/new"));
    expect(readdirSync(node.at("nas"))).toEqual(["new"]);
    expect(node.asked()).toBe(1);
  });

  test("is held for a pod of a document, and judged", async () => {
    const judge = hostPathError(newWorld().files, CONFIG_DEFAULTS);
    const node = aNode("nas", { hostPathError: () => judge });
    const pod = aPod({ volumes: [hostPath(node.at("nas"))] });
    const path = await setUp(node, pod);
    expect(path).toBe(join(node.world.podDir, "volumes/kubernetes.io~host-path/v"));
    writeFileSync(join(path, "file"), "x");
    expect(readFileSync(node.at("nas/file"), "utf8")).toBe("x");
    symlinkSync("/var/lib/containerd", node.at("nas/link"));
    const escaping = aPod({ volumes: [hostPath(node.at("nas/link"))] });
    mkdirSync("/var/lib/containerd", { recursive: true });
    const refused = await laterRefusal(setUp(node, escaping));
    expect(refused?.message).toContain("belongs to the node alone");
  });

  test("reports what is wrong there in the usual words", async () => {
    const node = aNode("nas");
    const pod = aPod({ volumes: [hostPath(node.at("nas/none"), "Directory")] });
    const message = `volume "v": hostPath type check failed: ${node.at("nas/none")} is not a directory: it does not exist`;
    expect(await laterRefusal(setUp(node, pod))).toEqual({ reason: "FailedMount", message });
  });

  test("holds claims, with the pod's group", async () => {
    const node = aNode("claims");
    node.world.objects.setClaim("db");
    const volume: Volume = {
      name: "v",
      persistentVolumeClaim: { claimName: "db", readOnly: false },
    };
    const path = await setUp(node, aPod({ volumes: [volume], securityContext: GROUPED }));
    expect(path).toBe(join(node.world.claimRoot, "default/db"));
    expect([statSync(path).gid, statSync(path).mode & 0o7777]).toEqual([4242, 0o2777]);
    chmodSync(path, 0o700);
    await setUp(node, aPod({ volumes: [volume], securityContext: GROUPED }));
    expect(statSync(path).mode & 0o7777).toBe(0o700);
    node.world.objects.remove("claim default/db");
    const refused = await laterRefusal(setUp(node, aPod({ volumes: [volume] })));
    expect(refused?.message).toContain("not found");
  });

  test("shows a part of it", async () => {
    const node = aNode("nas");
    mkdirSync(node.at("nas/part"));
    writeFileSync(node.at("nas/part/file"), "x");
    const pod = aPod({ volumes: [hostPath(node.at("nas"))] });
    const volumePath = await setUp(node, pod);
    const part = { uid: UID, container: "a", index: 0, volumeName: "v", volumePath };
    const path = await node.volumes.prepareSubPath(pod, { ...part, subPath: "part" }, NEVER);
    expect(path).toBe(join(node.world.podDir, "volume-subpaths/v/a/0"));
    expect(readFileSync(join(path, "file"), "utf8")).toBe("x");
    expect(node.asked()).toBe(2);
  });

  test("costs nothing where there is none", () => {
    const node = aNode("elsewhere");
    const pod = aPod({ volumes: [hostPath(node.at("nas"))] });
    expect(node.volumes.setUpRemote(pod, NEVER)).toBeUndefined();
    expect(node.volumes.setUp(pod).get("v")).toBe(node.at("nas"));
    expect(node.asked()).toBe(0);
  });
});

describe.skipIf(whyNoFuse() !== undefined)("a file system that hangs", () => {
  /** The refusal after the deadline; undefined = there was none. */
  async function refusal({ volumes, clock }: Node, pod: Pod): Promise<unknown> {
    volumes.check(pod);
    const failed = volumes.setUpRemote(pod, NEVER)?.then(
      () => undefined,
      (error: unknown) => error,
    );
    await clock.settle();
    await clock.advance(SILENT_MS);
    return failed;
  }

  test.each(["", "/inside/it"])("keeps only its own pod waiting: nas%s", async (below) => {
    const judge = hostPathError(newWorld().files, CONFIG_DEFAULTS);
    for (const more of [{}, { hostPathError: () => judge }]) {
      const node = aNode(undefined, more);
      using hung = await HungFileSystem.mount(node.at("nas"));
      for (const type of ["", "Directory"] as const) {
        const pod = aPod({ volumes: [hostPath(`${hung.path}${below}`, type)] });
        expect(await refusal(node, pod)).toMatchObject({
          reason: "FailedMount",
          message: `volume "v": ${hung.path} (fuse) does not answer (no answer within 10 s); it is tried again: check the server or the program that serves it`,
        });
        expect(() => node.volumes.setUp(pod)).toThrow("the next try asks it");
      }
    }
  });

  test("is found behind a link too, and by the judge of another path", async () => {
    const node = aNode();
    using hung = await HungFileSystem.mount(node.at("nas"));
    symlinkSync("nas/deep", node.at("link"));
    expect(node.world.files.hangable(node.at("link/more"))).toEqual({
      point: hung.path,
      type: "fuse",
    });
    expect(node.world.files.place(node.at("link/more"))).toBe(node.at("nas/deep/more"));
    expect(() => node.world.mounts.hold(node.at("link"))).toThrow("a file system that may hang");
  });

  test("under claims waits the same way, and tear-down never waits for it", async () => {
    const node = aNode();
    node.world.objects.setClaim("db");
    using hung = await HungFileSystem.mount(node.world.claimRoot);
    const volume: Volume = {
      name: "v",
      persistentVolumeClaim: { claimName: "db", readOnly: false },
    };
    expect(await refusal(node, aPod({ volumes: [volume] }))).toMatchObject({
      message: expect.stringContaining(`${hung.path} (fuse) does not answer`) as string,
    });
    const target = join(node.world.podDir, "volumes/kubernetes.io~host-path/v");
    mkdirSync(target, { recursive: true });
    expect(Bun.spawnSync(["mount", "--rbind", hung.path, target]).exitCode).toBe(0);
    node.volumes.tearDown(UID);
    expect(existsSync(node.world.podDir)).toBe(false);
  });

  test("is not looked at for the verb that removes data", async () => {
    const node = aNode();
    using hung = await HungFileSystem.mount(node.world.claimRoot);
    expect(() => node.volumes.claims.has({ namespace: "default", name: "db" })).toThrow(
      `${hung.path}/default/db is on ${hung.path} (fuse), a file system that may hang`,
    );
    expect(node.volumes.claims.removed()).toEqual([]);
  });

  test("keeps no pod of a file waiting that is elsewhere", async () => {
    const isFile = (pod: Pod): boolean => pod.metadata.name === "of-file";
    const claimUser = (pod: Pod) => (isFile(pod) ? "File" : "UnsignedDocument");
    const node = aNode("healthy", { claimUser });
    mkdirSync(node.at("healthy"));
    using hung = await HungFileSystem.mount(node.at("nas"));
    const waiting = Array.from({ length: 4 }, () => {
      const pod = aPod({ volumes: [hostPath(hung.path)] });
      return laterRefusal(Promise.resolve(node.volumes.setUpRemote(pod, NEVER)));
    });
    const pod = aPod({ volumes: [hostPath(node.at("healthy"))] });
    const ofFile = { ...pod, metadata: { ...pod.metadata, name: "of-file" } };
    // The clock stands still: no call that hangs has ended before.
    expect(await setUp(node, ofFile)).toBe(node.at("healthy"));
    for (let round = 0; round < 3; round += 1) {
      await node.clock.settle();
      await node.clock.advance(SILENT_MS);
    }
    for (const one of await Promise.all(waiting))
      expect(one).toMatchObject({ reason: "FailedMount" });
  });

  test("takes a few processes at most, whatever their number", async () => {
    const node = aNode();
    using hung = await HungFileSystem.mount(node.at("nas"));
    const pods = Array.from({ length: 12 }, () => aPod({ volumes: [hostPath(hung.path)] }));
    const refusals = pods.map((pod) => refusal(node, pod));
    await node.clock.settle();
    expect(node.asked()).toBe(12);
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
    const helpers = children.split(" ").filter((pid) => isHelper(pid));
    expect(helpers.length).toBeLessThanOrEqual(2);
    for (let round = 0; round < 6; round += 1) {
      await node.clock.settle();
      await node.clock.advance(SILENT_MS);
    }
    for (const one of await Promise.all(refusals))
      expect(one).toMatchObject({ reason: "FailedMount" });
  });
});

function isHelper(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("volume-helper");
  } catch {
    // It has ended meanwhile.
    return false;
  }
}
