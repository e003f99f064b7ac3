// A hostPath of a document is held by a bind mount from the moment it was judged, whatever happens to its names.

import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { VolumeMount } from "../../../src/api/v1/volume-mounts.ts";
import type { HostPathType } from "../../../src/api/v1/volumes.ts";
import { aContainer, aPod, UID } from "../../fakes/a-pod.ts";
import { volumeWorlds } from "./volume-world.ts";

const newWorld = volumeWorlds();
const NEVER = new AbortController().signal;

interface Given {
  readonly type?: HostPathType;
  readonly mountPropagation?: NonNullable<VolumeMount["mountPropagation"]>;
}

/** A pod of a document that may use what is below `shared`. */
function aNode() {
  const world = newWorld();
  const at = (path: string): string => join(world.root, path);
  for (const name of ["shared/dir", "outside"]) mkdirSync(at(name), { recursive: true });
  writeFileSync(at("shared/dir/file"), "mine");
  writeFileSync(at("outside/file"), "stolen");
  const judge = (_: string, resolved: string): string | undefined =>
    `${resolved}/`.startsWith(`${at("shared")}/`) ? undefined : `${resolved} is outside`;
  const restarted = () => world.again({ hostPathError: () => judge });
  const volumes = restarted();
  const podOf = (path: string, { type = "", ...propagation }: Given = {}) => {
    const volumeMounts = [{ name: "v", mountPath: "/v", readOnly: false, ...propagation }];
    const containers = [aContainer("a", { volumeMounts })];
    return aPod({ volumes: [{ name: "v", hostPath: { path: at(path), type } }], containers });
  };
  const shown = (path: string, given?: Given): string =>
    volumes.setUp(podOf(path, given)).get("v") ?? "";
  return { world, at, volumes, restarted, podOf, shown };
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [statSync(one), statSync(other)];
  return a.dev === b.dev && a.ino === b.ino;
}

function run(...command: string[]): void {
  expect([command, Bun.spawnSync(command).exitCode]).toEqual([command, 0]);
}

test("what the runtime mounts is never what a swapped name leads to", async () => {
  const { at, volumes, podOf } = aNode();
  symlinkSync(at("outside"), at("shared/link"));
  await using swapping = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, "swaps-until-killed.ts"),
      at("shared/dir"),
      at("shared/link"),
    ],
    { stdout: "pipe" },
  );
  const started = await swapping.stdout.getReader().read();
  expect(new TextDecoder().decode(started.value)).toBe("swapping\n");
  const open = readdirSync("/proc/self/fd").length;
  const seen = { mine: 0, refused: 0, stolen: 0 };
  for (let tries = 0; tries < 50_000 && seen.mine < 300; tries += 1) {
    const pod = podOf("shared/dir");
    try {
      const paths = volumes.setUp(pod);
      volumes.renewPaths(pod, paths);
      const text = readFileSync(join(paths.get("v") ?? "", "file"), "utf8");
      seen[text === "mine" ? "mine" : "stolen"] += 1;
    } catch (error) {
      expect(error).toMatchObject({ reason: "FailedMount" });
      seen.refused += 1;
    }
  }
  expect(seen.stolen).toBe(0);
  expect(seen.mine).toBeGreaterThanOrEqual(200);
  expect(seen.refused).toBeGreaterThan(0);
  expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(open);
});

describe("what is held", () => {
  test("is a mount in the pod's own directory, and the path's own content", () => {
    const { world, at, shown } = aNode();
    const path = shown("shared/dir");
    expect(path).toBe(join(world.podDir, "volumes/kubernetes.io~host-path/v"));
    writeFileSync(join(path, "new"), "x");
    expect(readFileSync(at("shared/dir/new"), "utf8")).toBe("x");
    expect(world.mounts.mountsUnder(world.podDir)).toEqual([path]);
  });

  test.each(["file", "socket", "device"])("may be a %s", (kind) => {
    const { at, shown } = aNode();
    const path = at(`shared/${kind}`);
    if (kind === "file") writeFileSync(path, "x");
    if (kind === "device") run("mknod", path, "c", "1", "3");
    using _listener =
      kind === "socket"
        ? Bun.listen({ unix: path, socket: { data: () => undefined } })
        : { [Symbol.dispose]: () => undefined };
    const type = { file: "File", socket: "Socket", device: "CharDevice" }[kind] as HostPathType;
    expect(isSame(shown(`shared/${kind}`, { type }), path)).toBe(true);
  });

  test("of no type and missing is a directory, as the runtime would make it", () => {
    const { at, shown } = aNode();
    expect(isSame(shown("shared/new/deep"), at("shared/new/deep"))).toBe(true);
    expect(statSync(at("shared/new")).mode & 0o7777).toBe(0o755);
  });

  test("stays for what runs, and is looked for again by the next container", () => {
    const { at, volumes, podOf } = aNode();
    const pod = podOf("shared/dir");
    const paths = volumes.setUp(pod);
    const path = paths.get("v") ?? "";
    renameSync(at("shared/dir"), at("shared/old"));
    expect(isSame(path, at("shared/old"))).toBe(true);
    writeFileSync(at("shared/dir"), "a file now");
    volumes.renewPaths(pod, paths);
    expect(readFileSync(path, "utf8")).toBe("a file now");
    rmSync(at("shared/dir"));
    expect(isSame(volumes.setUp(pod).get("v") ?? "", at("shared/dir"))).toBe(true);
    expect(readdirSync(at("shared/dir"))).toEqual([]);
  });

  test("is what a subPath of it is found in", async () => {
    const { at, volumes, podOf } = aNode();
    mkdirSync(at("shared/dir/part"));
    const pod = podOf("shared/dir");
    const volumePath = volumes.setUp(pod).get("v") ?? "";
    const part = { uid: UID, container: "a", index: 0, volumeName: "v", volumePath };
    const prepare = () => volumes.prepareSubPath(pod, { ...part, subPath: "part" }, NEVER);
    expect(isSame(await prepare(), at("shared/dir/part"))).toBe(true);
    rmSync(at("shared/dir/part"), { recursive: true });
    symlinkSync(at("outside"), at("shared/dir/part"));
    expect(prepare).toThrow("leads out of the volume");
  });
});

describe("mounts below it", () => {
  /** `shared` is a file system that propagates its mounts, as those of systemd do. */
  function propagating() {
    const node = aNode();
    rmSync(node.at("shared"), { recursive: true });
    mkdirSync(node.at("shared"));
    run("mount", "-t", "tmpfs", "tmpfs", node.at("shared"));
    run("mount", "--make-shared", node.at("shared"));
    mkdirSync(node.at("shared/dir/disk"), { recursive: true });
    return node;
  }
  const disk = (path: string): void => {
    run("mount", "-t", "tmpfs", "tmpfs", path);
    writeFileSync(join(path, "kept"), "x");
  };

  test("are there, also those that the host adds later", () => {
    const { at, shown } = propagating();
    disk(at("shared/dir/disk"));
    const path = shown("shared/dir", { mountPropagation: "HostToContainer" });
    expect(existsSync(join(path, "disk/kept"))).toBe(true);
    mkdirSync(at("shared/dir/later"));
    disk(at("shared/dir/later"));
    expect(existsSync(join(path, "later/kept"))).toBe(true);
  });

  test("reach the host only from a volume that is Bidirectional", () => {
    for (const mountPropagation of ["HostToContainer", "Bidirectional"] as const) {
      const { at, shown } = propagating();
      disk(join(shown("shared/dir", { mountPropagation }), "disk"));
      expect(existsSync(at("shared/dir/disk/kept"))).toBe(mountPropagation === "Bidirectional");
    }
  });

  test.each([undefined, "HostToContainer", "Bidirectional"] as const)(
    "stay on the host when the pod goes: %s",
    (mountPropagation) => {
      const { world, at, volumes, shown } = propagating();
      disk(at("shared/dir/disk"));
      const given = mountPropagation === undefined ? {} : { mountPropagation };
      shown("shared/dir", given);
      shown("shared/dir", given);
      volumes.tearDown(UID);
      expect(existsSync(world.podDir)).toBe(false);
      expect(readFileSync(at("shared/dir/disk/kept"), "utf8")).toBe("x");
      expect(world.mounts.isMountPoint(at("shared/dir/disk"))).toBe(true);
    },
  );
});

test("a dead agent's mounts are found and taken down, never emptied", () => {
  const { world, at, restarted, shown } = aNode();
  shown("shared/dir");
  const next = restarted();
  expect(next.leftovers()).toEqual([UID]);
  for (const _ of next.emptyLargeVolumes(UID));
  next.tearDown(UID);
  expect(existsSync(world.podDir)).toBe(false);
  expect(readFileSync(at("shared/dir/file"), "utf8")).toBe("mine");
});

test("mount points that a reboot has left empty are used again, whatever is there now", () => {
  const { world, at, restarted, podOf, shown } = aNode();
  world.mounts.unmount(shown("shared/dir"));
  rmSync(at("shared/dir"), { recursive: true });
  writeFileSync(at("shared/dir"), "a file now");
  const path = restarted().setUp(podOf("shared/dir")).get("v") ?? "";
  expect(readFileSync(path, "utf8")).toBe("a file now");
});
