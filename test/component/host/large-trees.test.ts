// Trees so large that everything else would wait for them: dealt with in steps, and small ones not at all.

import { describe, expect, test } from "bun:test";
import {
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { realMounts } from "../../../src/host/mounts.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { STEP_ENTRIES, walkInSteps } from "../../../src/host/tree/walk-tree.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const files = realFiles();
const GROUP = 4242;
const SHARED = { group: GROUP, readOnly: false, unlessRootFits: false };
/** A tmpfs: entries are made and removed quickly. */
const SHM = "/dev/shm";
const MEMORY_OF_TREES = join(import.meta.dir, "memory-of-trees.ts");
const LARGE = 6 * STEP_ENTRIES;

/** `entries` files in directories of a hundred, and a link that leads out. */
function aTree(entries: number): { tree: string; outside: string } {
  const root = newDirectory();
  const [tree, outside] = [join(root, "tree"), join(root, "outside")];
  mkdirSync(tree);
  mkdirSync(outside);
  writeFileSync(join(outside, "precious"), "x", { mode: 0o600 });
  symlinkSync(outside, join(tree, "link"));
  for (let index = 0; index < entries; index += 1) {
    const directory = join(tree, String(Math.floor(index / 100)));
    if (index % 100 === 0) mkdirSync(directory);
    closeSync(openSync(join(directory, String(index)), "w"));
  }
  return { tree, outside };
}

function fill(directory: string, entries: number): void {
  mkdirSync(directory);
  for (let index = 0; index < entries; index += 1)
    closeSync(openSync(join(directory, `a-name-of-some-length-${index}`), "w"));
}

const openFiles = (): number => readdirSync("/proc/self/fd").length;

describe("a large tree", () => {
  test("is emptied in steps, and nothing that its links lead to", () => {
    const { tree, outside } = aTree(LARGE);
    const steps = [...files.emptyLargeTree(tree)].length;
    expect(steps).toBeGreaterThanOrEqual(6);
    expect(readdirSync(tree)).toEqual([]);
    expect(readdirSync(outside)).toEqual(["precious"]);
  });

  test("that is left half empty goes on later, and holds nothing open", () => {
    const { tree } = aTree(LARGE);
    const before = openFiles();
    for (const _ of files.emptyLargeTree(tree)) break;
    // Fewer is possible: somebody else's garbage was collected meanwhile.
    expect(openFiles()).toBeLessThanOrEqual(before);
    expect(existsSync(tree)).toBe(true);
    files.removeTree(tree);
    expect(existsSync(tree)).toBe(false);
  });

  test("is given to a group in steps, the root last", () => {
    const { tree, outside } = aTree(LARGE);
    const steps = files.shareLargeTree(tree, SHARED);
    expect(steps.next()).toEqual({ done: false, value: undefined });
    expect(statSync(tree).gid).toBe(0);
    let last = steps.next();
    while (last.done !== true) last = steps.next();
    expect(last.value).toBe(true);
    expect([statSync(tree).gid, statSync(join(tree, "3/345")).gid]).toEqual([GROUP, GROUP]);
    expect(statSync(join(outside, "precious")).gid).toBe(0);
  });

  test("whose root has the group already is looked at no further where that is enough", () => {
    const { tree } = aTree(LARGE);
    chownSync(tree, 0, GROUP);
    files.setMode(tree, 0o2775);
    const steps = files.shareLargeTree(tree, { ...SHARED, unlessRootFits: true });
    expect(steps.next()).toEqual({ done: true, value: true });
    expect(statSync(join(tree, "0/0")).gid).toBe(0);
  });

  test("is not emptied through a mount", () => {
    const { tree, outside } = aTree(LARGE);
    const target = join(tree, "1/mounted");
    const mounts = realMounts();
    mkdirSync(target);
    mounts.bindBeneath({ root: outside, path: ".", create: false, target });
    try {
      expect(() => [...files.emptyLargeTree(tree)]).toThrow("there is a mount point inside");
      expect(readdirSync(outside)).toEqual(["precious"]);
    } finally {
      mounts.unmount(target);
    }
  });
});

describe("memory", () => {
  /** Many more names than a pod's memory limit would let the agent hold; on a tmpfs, where they are made quickly. */
  const MANY = 100_000;

  function peakOf(what: string, path: string): number {
    const child = Bun.spawnSync([process.execPath, MEMORY_OF_TREES, what, path]);
    expect(child.stderr.toString()).toBe("");
    return Number(child.stdout.toString());
  }

  for (const what of ["share", "measure", "remove"])
    test(`to ${what} a directory does not depend on the number of its files`, () => {
      const root = newDirectory(SHM);
      const [few, many] = [join(root, "few"), join(root, "many")];
      fill(few, 1000);
      fill(many, MANY);
      const growth = peakOf(what, many) - peakOf(what, few);
      expect(growth).toBeLessThan(MANY / 5);
      expect(existsSync(many)).toBe(what !== "remove");
    });
});

describe("a tree deeper than any path", () => {
  const DEEP = 20_000;

  /** Directories in each other, a file at the bottom. */
  function aChain(levels: number): string {
    const tree = join(newDirectory(SHM), "tree");
    mkdirSync(tree);
    let fd = openSync(tree, "r");
    for (let level = 0; level < levels; level += 1) {
      mkdirSync(`/proc/self/fd/${fd}/d`);
      const below = openSync(`/proc/self/fd/${fd}/d`, "r");
      closeSync(fd);
      fd = below;
    }
    writeFileSync(`/proc/self/fd/${fd}/bottom`, "x");
    closeSync(fd);
    return tree;
  }

  test("is given to a group and measured to its bottom, and removed", () => {
    const tree = aChain(DEEP);
    let visited = 0;
    for (const _ of walkInSteps(tree, () => (visited += 1)));
    expect(visited).toBe(DEEP + 2);
    files.shareTree(tree, SHARED);
    expect(statSync(tree).gid).toBe(GROUP);
    for (const _ of files.emptyLargeTree(tree));
    expect(readdirSync(tree)).toEqual([]);
  });

  test("is removed although its files have the names that the removal uses", () => {
    const tree = aChain(200);
    for (let index = 0; index < 600; index += 1)
      writeFileSync(join(tree, `.removing-${index}`), "");
    files.removeTree(tree);
    expect(existsSync(tree)).toBe(false);
  });
});

describe("a small tree", () => {
  test("is left to those who do it at once", () => {
    const { tree } = aTree(10);
    expect([...files.emptyLargeTree(tree)]).toEqual([]);
    expect(files.shareLargeTree(tree, SHARED).next()).toEqual({ done: true, value: false });
    expect(existsSync(join(tree, "0/9"))).toBe(true);
    expect(lstatSync(tree).gid).toBe(0);
  });

  test("as is nothing at all, and what is no directory", () => {
    const { tree, outside } = aTree(1);
    expect([...files.emptyLargeTree(join(tree, "absent"))]).toEqual([]);
    expect([...files.emptyLargeTree(join(tree, "link"))]).toEqual([]);
    expect(readdirSync(outside)).toEqual(["precious"]);
  });
});
