import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { EmptyDirVolume, HostPathType, Volume } from "../../../src/api/pod.ts";
import { realMounts } from "../../../src/host/mounts.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { Volumes } from "../../../src/volume/mount-volumes.ts";
import { aPod, UID } from "../../fakes/a-pod.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";

const newDirectory = temporaryDirectories();
const mounts = realMounts();
const files = realFiles();

function setUp(): { stateDir: string; volumes: Volumes; podDir: string } {
  const stateDir = join(newDirectory(), "state");
  const volumes = new Volumes({ files, mounts, stateDir });
  return { stateDir, volumes, podDir: join(stateDir, "pods", UID) };
}

function emptyDir(name: string, more: Partial<EmptyDirVolume["emptyDir"]> = {}): Volume {
  return { name, emptyDir: { medium: "", ...more } };
}

function hostPath(path: string, type: HostPathType): Volume {
  return { name: "data", hostPath: { path, type } };
}

function podWith(...volumes: Volume[]): ReturnType<typeof aPod> {
  return aPod({ volumes });
}

/** Unmounts at the end of the block, whatever the test did. */
function cleared(volumes: Volumes): Disposable {
  return { [Symbol.dispose]: () => volumes.tearDown(UID) };
}

function mode(path: string): number {
  return statSync(path).mode & 0o7777;
}

describe("an emptyDir", () => {
  test("is a directory for everybody, in a directory for nobody else", () => {
    const { volumes, podDir } = setUp();
    const paths = volumes.setUp(podWith(emptyDir("cache"), emptyDir("tmp")));
    expect([...paths]).toEqual([
      ["cache", join(podDir, "volumes/kubernetes.io~empty-dir/cache")],
      ["tmp", join(podDir, "volumes/kubernetes.io~empty-dir/tmp")],
    ]);
    expect([...paths.values()].map(mode)).toEqual([0o777, 0o777]);
    expect(mode(podDir)).toBe(0o750);
    expect(readdirSync(join(podDir, "volumes/kubernetes.io~empty-dir"))).toEqual(["cache", "tmp"]);
  });

  test("keeps its content and its mode when it is set up again", () => {
    const { volumes } = setUp();
    const path = volumes.setUp(podWith(emptyDir("db"))).get("db")!;
    writeFileSync(join(path, "file"), "x");
    chmodSync(path, 0o700);
    volumes.setUp(podWith(emptyDir("db")));
    expect([readdirSync(path), mode(path)]).toEqual([["file"], 0o700]);
  });

  test("that was not finished before a crash is finished then", () => {
    const { volumes, podDir } = setUp();
    const unfinished = join(podDir, "volumes/kubernetes.io~empty-dir/.db.new");
    mkdirSync(unfinished, { recursive: true, mode: 0o700 });
    const path = volumes.setUp(podWith(emptyDir("db"))).get("db")!;
    expect([mode(path), existsSync(unfinished)]).toEqual([0o777, false]);
  });

  test("in memory is a tmpfs of the size that is asked for, mounted once", () => {
    const { volumes, podDir } = setUp();
    using _ = cleared(volumes);
    const pod = podWith(emptyDir("shm", { medium: "Memory", sizeLimit: "1Mi" }));
    const path = volumes.setUp(pod).get("shm")!;
    writeFileSync(join(path, "file"), "x");
    volumes.setUp(pod);
    const { blocks, bsize } = statfsSync(path);
    expect(blocks * bsize).toBe(1024 * 1024);
    expect(mode(path)).toBe(0o777);
    expect(readFileSync(join(path, "file"), "utf8")).toBe("x");
    expect(mounts.mountsUnder(podDir)).toHaveLength(1);
  });

  test("in memory without a limit has the kernel's", () => {
    const { volumes } = setUp();
    using _ = cleared(volumes);
    const path = volumes.setUp(podWith(emptyDir("shm", { medium: "Memory" }))).get("shm")!;
    expect(mounts.isMountPoint(path)).toBe(true);
    expect(statfsSync(path).blocks).toBeGreaterThan(1024);
  });

  test("in memory is mounted again after a reboot", () => {
    const { volumes } = setUp();
    using _ = cleared(volumes);
    const pod = podWith(emptyDir("shm", { medium: "Memory" }));
    const path = volumes.setUp(pod).get("shm")!;
    mounts.unmount(path);
    volumes.setUp(pod);
    expect(mounts.isMountPoint(path)).toBe(true);
  });
});

describe("a hostPath", () => {
  test("is used where it is", () => {
    const { volumes, podDir } = setUp();
    const directory = newDirectory();
    expect(volumes.setUp(podWith(hostPath(directory, "Directory"))).get("data")).toBe(directory);
    expect(volumes.setUp(podWith(hostPath("/dev/null", "CharDevice"))).get("data")).toBe(
      "/dev/null",
    );
    expect(existsSync(podDir)).toBe(false);
  });

  test("without a type may even be absent", () => {
    const path = join(newDirectory(), "absent");
    expect(
      setUp()
        .volumes.setUp(podWith(hostPath(path, "")))
        .get("data"),
    ).toBe(path);
    expect(existsSync(path)).toBe(false);
  });

  test("is created where the type says so, and left alone the next time", () => {
    const { volumes } = setUp();
    const root = newDirectory();
    const directory = podWith(hostPath(join(root, "a/b"), "DirectoryOrCreate"));
    volumes.setUp(directory);
    writeFileSync(join(root, "a/b/file"), "x");
    volumes.setUp(directory);
    const file = podWith(hostPath(join(root, "a/b/file"), "FileOrCreate"));
    volumes.setUp(file);
    volumes.setUp(podWith(hostPath(join(root, "new"), "FileOrCreate")));
    expect([mode(join(root, "a/b")), mode(join(root, "new"))]).toEqual([0o755, 0o644]);
    expect(readFileSync(join(root, "a/b/file"), "utf8")).toBe("x");
  });

  test("through a link is what the link leads to", () => {
    const root = newDirectory();
    mkdirSync(join(root, "real"));
    symlinkSync("real", join(root, "link"));
    const link = join(root, "link");
    expect(
      setUp()
        .volumes.setUp(podWith(hostPath(link, "Directory")))
        .get("data"),
    ).toBe(link);
  });

  test("a link to nothing is not replaced", () => {
    const link = join(newDirectory(), "link");
    symlinkSync("nowhere", link);
    expect(() => setUp().volumes.setUp(podWith(hostPath(link, "FileOrCreate")))).toThrow(
      `volume "data": hostPath type check failed: ${link} is not a file: it is a symbolic link to nothing`,
    );
    expect(readlinkSync(link)).toBe("nowhere");
  });

  test("of another kind is refused as FailedMount", () => {
    const path = join(newDirectory(), "absent");
    try {
      setUp().volumes.setUp(podWith(hostPath(path, "Socket")));
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(AgentError);
      expect(error).toMatchObject({
        reason: "FailedMount",
        message: `volume "data": hostPath type check failed: ${path} is not a socket: there is nothing`,
      });
    }
  });
});

describe("tearing down", () => {
  test("removes the pod's directory and only that", () => {
    const { volumes, stateDir, podDir } = setUp();
    const path = volumes.setUp(podWith(emptyDir("cache"))).get("cache")!;
    mkdirSync(join(path, "deep/er"), { recursive: true });
    const kept = newDirectory();
    writeFileSync(join(kept, "file"), "x");
    symlinkSync(kept, join(path, "link"));
    mkdirSync(join(stateDir, "pods/other"));
    volumes.tearDown(UID);
    expect([existsSync(podDir), readdirSync(join(stateDir, "pods"))]).toEqual([false, ["other"]]);
    expect(readdirSync(kept)).toEqual(["file"]);
  });

  test("unmounts what is in memory", () => {
    const { volumes, podDir } = setUp();
    const path = volumes.setUp(podWith(emptyDir("shm", { medium: "Memory" }))).get("shm")!;
    // One that was mounted twice, as after two agents at once.
    mounts.tmpfs(path, { mode: 0o777 });
    volumes.tearDown(UID);
    expect([existsSync(podDir), mounts.mountsUnder(podDir)]).toEqual([false, []]);
  });

  test("never reaches through a mount into somebody's data", () => {
    const { volumes, podDir } = setUp();
    const path = volumes.setUp(podWith(emptyDir("cache"))).get("cache")!;
    const kept = newDirectory();
    writeFileSync(join(kept, "file"), "x");
    mkdirSync(join(path, "bound"));
    expect(Bun.spawnSync(["mount", "--bind", kept, join(path, "bound")]).exitCode).toBe(0);
    volumes.tearDown(UID);
    expect([existsSync(podDir), readdirSync(kept)]).toEqual([false, ["file"]]);
  });

  test("stops before a mount that does not go", () => {
    const { stateDir, volumes, podDir } = setUp();
    volumes.setUp(podWith(emptyDir("cache")));
    const stuck = {
      ...mounts,
      mountsUnder: () => [join(podDir, "stuck")],
      unmount: () => undefined,
    };
    expect(() => new Volumes({ files, mounts: stuck, stateDir }).tearDown(UID)).toThrow(
      `cannot clear ${podDir}: ${join(podDir, "stuck")} is still mounted`,
    );
    expect(existsSync(podDir)).toBe(true);
  });

  test("of what was never there is fine, of what is no UID is not", () => {
    const { volumes } = setUp();
    volumes.tearDown(UID);
    expect(() => volumes.tearDown("../..")).toThrow("is not a pod's UID");
  });
});

test("leftovers are the pods that have a directory", () => {
  const { volumes, stateDir } = setUp();
  expect(volumes.leftovers()).toEqual([]);
  volumes.setUp(podWith(emptyDir("cache")));
  mkdirSync(join(stateDir, "pods/.hidden"));
  writeFileSync(join(stateDir, "pods/file"), "");
  expect(volumes.leftovers()).toEqual([UID]);
});
