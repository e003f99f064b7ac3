// Trees that a hostile pod has filled, as they are walked, given to a group, and measured.

import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { realMounts } from "../../../src/host/mounts.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { walkInSteps } from "../../../src/host/tree/walk-tree.ts";
import { HungFileSystem, whyNoFuse } from "../../harness/hung-file-system.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const files = realFiles();
const mounts = realMounts();
const GROUP = 4242;
const SHARED = { group: GROUP, readOnly: false, unlessRootFits: false };

/** A tree, and beside it a directory of somebody else. */
function aTree(): { tree: string; outside: string } {
  const root = newDirectory();
  const [tree, outside] = [join(root, "tree"), join(root, "outside")];
  mkdirSync(join(tree, "a/b"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(tree, "a/b/file"), "x", { mode: 0o600 });
  writeFileSync(join(outside, "precious"), "x", { mode: 0o600 });
  symlinkSync(outside, join(tree, "link"));
  symlinkSync(join(outside, "precious"), join(tree, "a/link"));
  return { tree, outside };
}

function bind(from: string, to: string): Disposable {
  mounts.bindBeneath({ root: from, path: ".", create: false, target: to });
  return { [Symbol.dispose]: () => mounts.unmount(to) };
}

function walkTree(path: string, visit: (path: Buffer) => void): void {
  for (const _ of walkInSteps(path, visit));
}

const look = (path: string) => [statSync(path).gid, statSync(path).mode & 0o7777];

describe("giving a tree to a group", () => {
  test("changes all of it, and nothing that its links lead to", () => {
    const { tree, outside } = aTree();
    files.shareTree(tree, SHARED);
    expect([look(tree), look(join(tree, "a/b"))]).toEqual([
      [GROUP, 0o2775],
      [GROUP, 0o2775],
    ]);
    expect(look(join(tree, "a/b/file"))).toEqual([GROUP, 0o660]);
    expect(lstatSync(join(tree, "link")).gid).toBe(GROUP);
    expect([look(outside), look(join(outside, "precious"))]).toEqual([
      [0, 0o755],
      [0, 0o600],
    ]);
  });

  test("keeps owners, and the bits that a change of group takes away", () => {
    const { tree } = aTree();
    const path = join(tree, "a/b/file");
    chownSync(path, 1234, 99);
    chmodSync(path, 0o4750);
    files.shareTree(tree, SHARED);
    expect([look(path), statSync(path).uid]).toEqual([[GROUP, 0o4770], 1234]);
  });

  test("for reading only adds no right to write", () => {
    const { tree } = aTree();
    files.shareTree(tree, { ...SHARED, readOnly: true });
    expect(look(join(tree, "a/b/file"))).toEqual([GROUP, 0o640]);
    expect(look(join(tree, "a"))).toEqual([GROUP, 0o2755]);
  });

  test("touches nothing that is right already", () => {
    const { tree } = aTree();
    files.shareTree(tree, SHARED);
    const before = lstatSync(join(tree, "a/b/file")).ctimeMs;
    Bun.sleepSync(5);
    files.shareTree(tree, SHARED);
    expect(lstatSync(join(tree, "a/b/file")).ctimeMs).toBe(before);
  });

  test("stops before another mount", () => {
    const { tree, outside } = aTree();
    mkdirSync(join(tree, "a/mounted"));
    using _ = bind(outside, join(tree, "a/mounted"));
    files.shareTree(tree, SHARED);
    expect([look(outside), look(join(outside, "precious"))]).toEqual([
      [0, 0o755],
      [0, 0o600],
    ]);
    expect(look(join(tree, "a"))).toEqual([GROUP, 0o2775]);
  });

  test("of what cannot be changed goes on, as on a disk without groups", () => {
    const { tree } = aTree();
    using _ = bind(tree, tree);
    expect(Bun.spawnSync(["mount", "-o", "remount,bind,ro", tree]).exitCode).toBe(0);
    files.shareTree(tree, SHARED);
    expect(look(join(tree, "a/b/file"))).toEqual([0, 0o600]);
  });

  test("is refused at a link", () => {
    const { tree, outside } = aTree();
    expect(() => files.shareTree(join(tree, "link"), SHARED)).toThrow("cannot give to a group");
    expect(look(outside)).toEqual([0, 0o755]);
  });
});

describe("measuring a tree", () => {
  test("counts every file once, no link, and no other mount", () => {
    const { tree, outside } = aTree();
    mkdirSync(join(tree, "mounted"));
    using _ = bind(outside, join(tree, "mounted"));
    const before = files.diskUsage(tree);
    writeFileSync(join(tree, "big"), Buffer.alloc(256 * 1024, 1));
    linkSync(join(tree, "big"), join(tree, "a/again"));
    writeFileSync(join(outside, "huge"), Buffer.alloc(1024 * 1024, 1));
    symlinkSync("/usr/bin/env", join(tree, "a/huge"));
    expect(files.diskUsage(tree) - before).toBe(256 * 1024);
  });

  test("agrees with du", () => {
    const du = Number(Bun.spawnSync(["du", "-sxk", "/etc"]).stdout.toString().split("\t")[0]);
    expect(files.diskUsage("/etc")).toBe(du * 1024);
  });

  test("reaches the bottom of a depth that no path can name, with one open file", () => {
    const directory = newDirectory();
    const made = Bun.spawnSync(
      [
        "sh",
        "-c",
        "d=$(printf d%.0s $(seq 60)); for i in $(seq 150); do mkdir $d && cd -P $d; done; echo x > file",
      ],
      { cwd: directory },
    );
    expect(made.exitCode).toBe(0);
    let seen = 0;
    let open = 0;
    const before = readdirSync("/proc/self/fd").length;
    walkTree(directory, () => {
      seen += 1;
      open = Math.max(open, readdirSync("/proc/self/fd").length - before);
    });
    expect(seen).toBe(152);
    // Fewer is possible: somebody else's garbage was collected meanwhile.
    expect(open).toBeLessThanOrEqual(1);
    files.removeTree(directory);
  });

  test("ends when a directory is moved out from under it", () => {
    const { tree } = aTree();
    mkdirSync(join(tree, "z"));
    const walk = () =>
      walkTree(tree, (path) => {
        if (String(path).endsWith("/file")) renameSync(join(tree, "a/b"), join(tree, "z/b"));
      });
    expect(walk).toThrow("a directory in it was moved");
  });
});

describe.skipIf(whyNoFuse() !== undefined)("a file system that hangs in a tree", () => {
  const SOURCES = join(import.meta.dir, "../../../src/host/tree");
  const calls = {
    "given to a group": `
      const { shareTree } = await import("${SOURCES}/fs-group.ts");
      shareTree(tree, ${JSON.stringify(SHARED)});`,
    measured: `
      const { diskUsage } = await import("${SOURCES}/walk-tree.ts");
      diskUsage(tree);`,
    "looked at": `
      const { isLargeTree } = await import("${SOURCES}/walk-tree.ts");
      isLargeTree(tree);`,
  };

  test.each(Object.entries(calls))("is left out while the tree is %s", async (_, call) => {
    const { tree } = aTree();
    using _hung = await HungFileSystem.mount(join(tree, "a/b/nas"));
    // In a process of its own, which can be killed where it hangs.
    const code = `const tree = ${JSON.stringify(tree)};${call}`;
    const child = Bun.spawnSync([process.execPath, "-e", code], {
      timeout: 20_000,
      killSignal: "SIGKILL",
    });
    expect([child.exitCode, child.stderr.toString()]).toEqual([0, ""]);
    if (call.includes("shareTree")) expect(look(join(tree, "a/b/file"))[0]).toBe(GROUP);
  });
});

test("looking at an entry says its permissions", () => {
  const { tree } = aTree();
  chmodSync(tree, 0o2751);
  expect([files.info(tree)?.mode, files.info(join(tree, "a/b/file"))?.mode]).toEqual([
    0o2751, 0o600,
  ]);
});

test("links are made and read, and what is no link has no target", () => {
  const { tree } = aTree();
  files.makeLink(join(tree, "new"), "a/b");
  expect(files.readLink(join(tree, "new"))).toBe("a/b");
  expect([files.readLink(tree), files.readLink(join(tree, "absent"))]).toEqual([
    undefined,
    undefined,
  ]);
  expect(() => files.makeLink(join(tree, "new"), "other")).toThrow("cannot link");
});

test("a file that is written lazily replaces a link, and has its mode whatever the umask", () => {
  const { tree, outside } = aTree();
  files.writeLazily(join(tree, "a/link"), "new", 0o666);
  expect(lstatSync(join(tree, "a/link")).mode & 0o7777).toBe(0o666);
  expect(statSync(join(outside, "precious")).size).toBe(1);
});
