import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import { realMounts, type TmpfsOptions } from "../../../src/host/mounts.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const mounts = realMounts();
const files = realFiles();

/** Unmounts at the end of the block. */
function mounted(path: string, options: TmpfsOptions = { mode: 0o755 }): Disposable {
  mkdirSync(path, { recursive: true });
  mounts.tmpfs(path, options);
  return { [Symbol.dispose]: () => mounts.unmount(path) };
}

function bind(from: string, to: string): Disposable {
  expect(Bun.spawnSync(["mount", "--bind", from, to]).exitCode).toBe(0);
  return { [Symbol.dispose]: () => mounts.unmount(to) };
}

describe("a tmpfs", () => {
  test("has the size and mode as asked, and goes with everything in it", () => {
    const path = join(newDirectory(), "with space");
    mkdirSync(path);
    expect(mounts.isMountPoint(path)).toBe(false);
    mounts.tmpfs(path, { sizeBytes: 1024 * 1024, mode: 0o1777 });
    expect(mounts.isMountPoint(path)).toBe(true);
    const { blocks, bsize } = statfsSync(path);
    expect(blocks * bsize).toBe(1024 * 1024);
    expect(statSync(path).mode & 0o7777).toBe(0o1777);
    writeFileSync(join(path, "file"), "x");
    mounts.unmount(path);
    expect(mounts.isMountPoint(path)).toBe(false);
    expect(readdirSync(path)).toEqual([]);
    mounts.unmount(path);
  });

  test("that is busy is detached", () => {
    const path = newDirectory();
    mounts.tmpfs(path, { mode: 0o755 });
    writeFileSync(join(path, "file"), "x");
    const fd = openSync(join(path, "file"), "r");
    try {
      mounts.unmount(path);
      expect(mounts.isMountPoint(path)).toBe(false);
    } finally {
      closeSync(fd);
    }
  });

  test("on nothing is an error with the path", () => {
    const path = join(newDirectory(), "absent");
    expect(() => mounts.tmpfs(path, { mode: 0o755 })).toThrow(
      expect.objectContaining({ reason: "MountError" }),
    );
    expect(() => mounts.tmpfs(path, { mode: 0o755 })).toThrow(path);
    mounts.unmount(path);
  });
});

test("a tmpfs is for the group that is asked for, and never swapped out where the kernel can do so", () => {
  const path = newDirectory();
  using _ = mounted(path, { mode: 0o2770, group: 4242 });
  expect([statSync(path).gid, statSync(path).mode & 0o7777]).toEqual([4242, 0o2770]);
  const line = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .find((text) => text.includes(path));
  const [major = 0, minor = 0] = release().split(".").map(Number);
  expect(line?.includes("noswap")).toBe(major > 6 || (major === 6 && minor >= 4));
});

test("huge pages of a size that the kernel has not are refused in words", () => {
  const path = newDirectory();
  expect(() => mounts.hugetlbfs(path, { pageBytes: 12_345, mode: 0o777 })).toThrow(
    `cannot mount huge pages on ${path}: the kernel has no pages of 12345 bytes`,
  );
});

test("a private mount hides what is mounted below it, and what is none may be asked too", () => {
  const directory = newDirectory();
  using _outer = mounted(join(directory, "a"));
  expect(Bun.spawnSync(["mount", "--make-shared", join(directory, "a")]).exitCode).toBe(0);
  mkdirSync(join(directory, "a/disk"));
  mkdirSync(join(directory, "b"));
  using _bound = bind(join(directory, "a"), join(directory, "b"));
  mounts.makePrivate(join(directory, "b"));
  using _inner = mounted(join(directory, "a/disk"));
  expect(mounts.isMountPoint(join(directory, "b/disk"))).toBe(false);
  mounts.makePrivate(join(directory, "a/disk/none"));
  mounts.makePrivate(directory);
});

test("mount points below a path come deepest first, also through a link", () => {
  const directory = newDirectory();
  const real = realpathSync(directory);
  using _outer = mounted(join(directory, "pod/a"));
  using _inner = mounted(join(directory, "pod/a/b"));
  using _other = mounted(join(directory, "pod-other"));
  const expected = [join(real, "pod/a/b"), join(real, "pod/a")];
  expect(mounts.mountsUnder(join(directory, "pod"))).toEqual(expected);
  symlinkSync(directory, join(directory, "link"));
  expect(mounts.mountsUnder(join(directory, "link", "pod"))).toEqual(expected);
  expect(mounts.isMountPoint(join(directory, "link", "pod", "a"))).toBe(true);
  expect(mounts.mountsUnder(join(directory, "pod/a/b"))).toEqual([]);
  expect(mounts.mountsUnder(join(directory, "no/such"))).toEqual([]);
});

describe("removing a tree", () => {
  test("takes everything in it, and nothing that links point to", () => {
    const directory = newDirectory();
    const outside = join(directory, "outside");
    const tree = join(directory, "tree");
    mkdirSync(join(tree, "a/b"), { recursive: true });
    mkdirSync(outside);
    writeFileSync(join(outside, "precious"), "x");
    symlinkSync(outside, join(tree, "a/link"));
    symlinkSync("loop", join(tree, "loop"));
    writeFileSync(join(tree, "a/b/file"), "x", { mode: 0o000 });
    writeFileSync(
      Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0xfe])]),
      "a name that is no text",
    );
    files.removeTree(tree);
    expect(existsSync(tree)).toBe(false);
    expect(readdirSync(outside)).toEqual(["precious"]);
    files.removeTree(tree);
    symlinkSync(outside, tree);
    files.removeTree(tree);
    expect(readdirSync(directory)).toEqual(["outside"]);
    expect(readdirSync(outside)).toEqual(["precious"]);
  });

  test("copes with a depth that no path can name", () => {
    const directory = newDirectory();
    const made = Bun.spawnSync(
      [
        "sh",
        "-c",
        "mkdir tree && cd tree && mkdir -p .removing-1/x && d=$(printf d%.0s $(seq 60)); for i in $(seq 150); do mkdir $d && cd -P $d; done",
      ],
      { cwd: directory },
    );
    expect(made.exitCode).toBe(0);
    const open = readdirSync("/proc/self/fd").length;
    files.removeTree(join(directory, "tree"));
    expect(readdirSync(directory)).toEqual([]);
    // Fewer is possible: somebody else's garbage was collected meanwhile.
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(open);
  });

  test.each(["tmpfs", "bind mount of the same file system"])("stops before a %s", (kind) => {
    const directory = newDirectory();
    const outside = join(directory, "outside");
    const inside = join(directory, "tree/volumes/data");
    mkdirSync(outside);
    mkdirSync(inside, { recursive: true });
    using _mount = kind === "tmpfs" ? mounted(inside) : bind(outside, inside);
    writeFileSync(join(inside, "precious"), "x");
    expect(() => files.removeTree(join(directory, "tree"))).toThrow("mount point");
    expect(() => files.removeTree(inside)).toThrow("mount point");
    expect(readFileSync(join(inside, "precious"), "utf8")).toBe("x");
  });
});
