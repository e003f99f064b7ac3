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
import type { EmptyDirVolume, HostPathType, Volume } from "../../../src/api/v1/volumes.ts";
import { realMounts } from "../../../src/host/mounts.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import { Volumes } from "../../../src/volume/volume-manager.ts";
import { aContainer, aPod, UID } from "../../fakes/a-pod.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";

const newDirectory = temporaryDirectories();
const mounts = realMounts();
const files = realFiles();

function setUp(options: { readonly memoryBytes?: number } = {}): {
  stateDir: string;
  volumes: Volumes;
  podDir: string;
} {
  const stateDir = join(newDirectory(), "state");
  const volumes = new Volumes({ files, mounts, stateDir, ...options });
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

  test.each([
    ["the pod's limit where that is less", "1Gi", "2Mi", 2],
    ["what is asked for where that is less than the pod's limit", "1Mi", "2Mi", 1],
    ["the pod's limit where nothing is asked for", undefined, "2Mi", 2],
    ["what all pods may take where nobody says anything", undefined, undefined, 3],
  ] as const)("in memory has %s", (_case, sizeLimit, limit, megabytes) => {
    const { volumes } = setUp({ memoryBytes: 3 * 1024 * 1024 });
    using _ = cleared(volumes);
    const limits = limit === undefined ? {} : { memory: limit };
    const pod = aPod({
      containers: [aContainer("a", { resources: { limits, requests: {} } })],
      volumes: [emptyDir("shm", { medium: "Memory", ...(sizeLimit && { sizeLimit }) })],
    });
    const { blocks, bsize } = statfsSync(volumes.setUp(pod).get("shm")!);
    expect(blocks * bsize).toBe(megabytes * 1024 * 1024);
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

describe("an emptyDir of a pod with fsGroup", () => {
  const owned = (...volumes: Volume[]) =>
    aPod({ volumes, securityContext: { supplementalGroups: [], sysctls: [], fsGroup: 4242 } });

  test.each(["", "Memory"] as const)(
    "on medium %p belongs to the group, and so do new files",
    (medium) => {
      const { volumes } = setUp();
      using _ = cleared(volumes);
      const path = volumes.setUp(owned(emptyDir("db", { medium }))).get("db")!;
      expect([mode(path), statSync(path).gid]).toEqual([0o2777, 4242]);
      const touch = ["setpriv", "--reuid=1234", "--regid=99", "--groups=4242", "touch", "file"];
      expect(Bun.spawnSync(touch, { cwd: path }).exitCode).toBe(0);
      expect(statSync(join(path, "file")).gid).toBe(4242);
    },
  );

  test("keeps what its containers made of it", () => {
    const { volumes } = setUp();
    const path = volumes.setUp(owned(emptyDir("db"))).get("db")!;
    writeFileSync(join(path, "private"), "x", { mode: 0o600 });
    chmodSync(path, 0o700);
    volumes.setUp(owned(emptyDir("db")));
    expect([mode(path), mode(join(path, "private"))]).toEqual([0o700, 0o600]);
  });

  test("a hostPath is nobody's to give", () => {
    const directory = newDirectory();
    writeFileSync(join(directory, "file"), "x", { mode: 0o600 });
    setUp().volumes.setUp(owned(hostPath(directory, "Directory")));
    expect([statSync(directory).gid, mode(join(directory, "file"))]).toEqual([0, 0o600]);
  });
});

describe("an emptyDir of huge pages", () => {
  const asking = (...resources: string[]) =>
    resources.map((resource) => {
      const list = { [resource]: "4Mi" };
      return aContainer(resource.toLowerCase(), { resources: { limits: list, requests: list } });
    });

  test.each(["HugePages", "HugePages-2Mi"] as const)("on medium %p is a hugetlbfs", (medium) => {
    const { volumes } = setUp();
    using _ = cleared(volumes);
    const pod = aPod({
      volumes: [emptyDir("huge", { medium })],
      containers: asking("hugepages-2Mi"),
    });
    const path = volumes.setUp(pod).get("huge")!;
    volumes.setUp(pod);
    expect([statfsSync(path).type, statfsSync(path).bsize]).toEqual([0x958458f6, 2 * 1024 * 1024]);
    expect([mode(path), mounts.mountsUnder(path)]).toEqual([0o777, []]);
  });

  test("of a size that nobody asked for, or that the kernel has not, is refused in words", () => {
    const { volumes } = setUp();
    const pod = aPod({
      volumes: [
        emptyDir("huge", { medium: "HugePages" }),
        emptyDir("odd", { medium: "HugePages-3Mi" }),
      ],
      containers: asking("hugepages-3Mi", "hugepages-2Mi"),
    });
    expect(() => volumes.setUp(pod)).toThrow(
      /volume "huge": medium: HugePages can't be used if container requests multiple huge page sizes; volume "odd": cannot mount huge pages on .*: the kernel has no pages of 3145728 bytes/,
    );
  });
});

describe("usage", () => {
  test("is what the emptyDirs on disk take, and nothing else", () => {
    const { volumes } = setUp();
    using _ = cleared(volumes);
    const pod = podWith(
      emptyDir("disk"),
      emptyDir("empty"),
      emptyDir("shm", { medium: "Memory" }),
      hostPath("/etc", ""),
    );
    expect(volumes.usage(pod).size).toBe(0);
    const path = volumes.setUp(pod).get("disk")!;
    writeFileSync(join(path, "file"), Buffer.alloc(1024 * 1024, 1));
    const usage = volumes.usage(pod);
    expect([...usage.keys()]).toEqual(["disk", "empty"]);
    expect(usage.get("disk")! - usage.get("empty")!).toBe(1024 * 1024);
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

  test("is created beside what is there, and not over what comes meanwhile", () => {
    const root = newDirectory();
    writeFileSync(join(root, ".db.tmp"), "somebody's");
    const busy = {
      ...files,
      createFile: (path: string, mode: number) => {
        writeFileSync(path, "important");
        files.createFile(path, mode);
      },
    };
    const volumes = new Volumes({ files: busy, mounts, stateDir: join(root, "state") });
    volumes.setUp(podWith(hostPath(join(root, "db"), "FileOrCreate")));
    expect(readFileSync(join(root, "db"), "utf8")).toBe("important");
    expect(readFileSync(join(root, ".db.tmp"), "utf8")).toBe("somebody's");
  });

  test("is refused where something else was made meanwhile", () => {
    const path = join(newDirectory(), "db");
    const busy = { ...files, createFile: () => mkdirSync(path) };
    const volumes = new Volumes({ files: busy, mounts, stateDir: `${path}.state` });
    expect(() => volumes.setUp(podWith(hostPath(path, "FileOrCreate")))).toThrow(
      `${path} is not a file: it is a directory`,
    );
  });

  test("is created behind a link that leads somewhere, and behind no other", () => {
    const { volumes } = setUp();
    const root = newDirectory();
    mkdirSync(join(root, "real"));
    symlinkSync(join(root, "real"), join(root, "link"));
    symlinkSync("nowhere", join(root, "dangling"));
    const made = join(root, "link/file");
    expect(volumes.setUp(podWith(hostPath(made, "FileOrCreate"))).get("data")).toBe(made);
    volumes.setUp(podWith(hostPath(join(root, "link/a/b"), "DirectoryOrCreate")));
    expect(readdirSync(join(root, "real")).toSorted()).toEqual(["a", "file"]);
    expect(() =>
      volumes.setUp(podWith(hostPath(join(root, "dangling/file"), "FileOrCreate"))),
    ).toThrow("leads through a broken symbolic link");
    expect(() => volumes.setUp(podWith(hostPath(join(root, "no/file"), "FileOrCreate")))).toThrow(
      `cannot create the file ${join(root, "no/file")}: "${join(root, "no")}" does not exist`,
    );
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
      `volume "data": hostPath type check failed: ${link} is not a file: it is a broken symbolic link`,
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
        message: `volume "data": hostPath type check failed: ${path} is not a socket: it does not exist`,
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
    expect(() => volumes.tearDown("../..")).toThrow("is not a pod UID");
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
