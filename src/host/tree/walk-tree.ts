// Performs: visits every entry of a directory filled by a hostile pod: follows no link, enters no other mount, and holds
// one descriptor whatever the depth.

import { closeSync, fstatSync, lstatSync, openSync, readdirSync, type Stats } from "node:fs";
import { ignoring } from "../../lib/errors.ts";
import { OPEN_DIRECTORY, at, mountOf } from "./directory-fd.ts";

/** `path` is valid only during the visit; the entry may have been replaced since `stats` were taken. */
type Visit = (path: Buffer, stats: Stats) => void;

/** Entries per step: some milliseconds. */
export const STEP_ENTRIES = 256;
/** Entries of a tree that would block the event loop noticeably. */
const LARGE_ENTRIES = 4 * STEP_ENTRIES;

/**
 * A directory is visited after its content, `path` itself last. In steps: the caller yields to the event loop in between,
 * or stops. Throws when a directory was moved away meanwhile.
 */
export function* walkInSteps(path: string, visit: Visit): Generator<void, void> {
  using walk = new TreeWalk(path, visit);
  yield* walk.run();
}

/** Visits at most as many entries as needed to decide. */
export function isLargeTree(path: string): boolean {
  let entries = 0;
  for (const _ of walkInSteps(path, () => (entries += 1)))
    if (entries >= LARGE_ENTRIES) return true;
  return false;
}

interface Level {
  readonly names: Buffer[];
  readonly identity: string;
}

const SELF = Buffer.from(".");
const PARENT = Buffer.from("..");
/** Removed or replaced since its name was read. */
const REPLACED: readonly string[] = ["ENOENT", "ENOTDIR", "ELOOP"];

class TreeWalk implements Disposable {
  readonly #visit: Visit;
  readonly #mount: string;
  readonly #levels: Level[] = [];
  /** The directory of the last level. */
  #fd: number;

  constructor(path: string, visit: Visit) {
    this.#visit = visit;
    this.#fd = openSync(path, OPEN_DIRECTORY);
    this.#mount = mountOf(this.#fd);
    this.#levels.push(levelOf(this.#fd));
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  *run(): Generator<void, void> {
    for (let entries = 1; ; entries += 1) {
      if (entries % STEP_ENTRIES === 0) yield;
      const name = this.#levels.at(-1)?.names.pop();
      if (name !== undefined) this.#enter(name);
      else if (this.#leave()) return;
    }
  }

  #enter(name: Buffer): void {
    const path = at(this.#fd, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return;
    if (!stats.isDirectory()) return this.#visit(path, stats);
    const fd = ignoring(REPLACED, () => openSync(path, OPEN_DIRECTORY));
    if (fd === undefined) return;
    if (mountOf(fd) !== this.#mount) return closeSync(fd);
    closeSync(this.#fd);
    this.#fd = fd;
    this.#levels.push(levelOf(fd));
  }

  /** True when it was the root. */
  #leave(): boolean {
    this.#visit(at(this.#fd, SELF), fstatSync(this.#fd));
    this.#levels.pop();
    const parent = this.#levels.at(-1);
    if (parent === undefined) return true;
    const fd = openSync(at(this.#fd, PARENT), OPEN_DIRECTORY);
    closeSync(this.#fd);
    this.#fd = fd;
    // Continuing from another directory could lead out of the tree.
    if (identityOf(fd) !== parent.identity) throw new Error("a directory in it was moved");
    return false;
  }
}

function levelOf(fd: number): Level {
  const names = readdirSync(`/proc/self/fd/${fd}`, { encoding: "buffer" });
  return { names, identity: identityOf(fd) };
}

function identityOf(fd: number): string {
  const { dev, ino } = fstatSync(fd);
  return `${dev}:${ino}`;
}

/** The unit of `blocks` in stat, for every file system. */
const BLOCK_BYTES = 512;

/** Bytes on disk of a directory and its content, on its own mount only; a hard-linked file counts once. kubelet: fs.DiskUsage */
export function diskUsage(path: string): number {
  const seen = new Set<string>();
  let blocks = 0;
  const visit = (_: Buffer, stats: Stats): void => {
    if (stats.nlink > 1 && !stats.isDirectory()) {
      const identity = `${stats.dev}:${stats.ino}`;
      if (seen.has(identity)) return;
      seen.add(identity);
    }
    blocks += stats.blocks;
  };
  for (const _ of walkInSteps(path, visit));
  return blocks * BLOCK_BYTES;
}
