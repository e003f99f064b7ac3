// Performs: visits every entry of a directory filled by a hostile pod: follows no link, enters no other mount, and holds
// one descriptor and one piece of the names, however many entries there are and however deep they lie.

import { closeSync, fstatSync, lstatSync, openSync, readlinkSync, type Stats } from "node:fs";
import { ignoring } from "../../lib/errors.ts";
import { OPEN_DIRECTORY, at, mountOf } from "./directory-fd.ts";
import { hangableMounts } from "../mount-table.ts";
import { DirectoryReader, type DirectoryEntry } from "./read-directory.ts";

/** Bytes on disk, and inodes. */
export interface TreeUsage {
  readonly bytes: number;
  readonly inodes: number;
}

/** `path` is valid only during the visit; the entry may have been replaced since `stats` were taken. */
type Visit = (path: Buffer, stats: Stats) => void;

/** Entries per step: some milliseconds. */
export const STEP_ENTRIES = 256;
/** Steps through a tree that would block the event loop noticeably. */
const LARGE_STEPS = 4;
/** Each level of directories takes some memory. */
const MAX_DEPTH = 250_000;

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
  let steps = 0;
  for (const _ of walkInSteps(path, () => undefined)) if ((steps += 1) >= LARGE_STEPS) return true;
  return false;
}

interface Level {
  readonly dev: number;
  readonly ino: number;
  /** Where reading goes on when the walk comes back from a directory in it. */
  next: bigint;
  /** Paths in it of file systems that may hang. */
  readonly avoided: readonly string[];
}

const SELF = Buffer.from(".");
const PARENT = Buffer.from("..");
/** Removed or replaced since its name was read. */
const REPLACED: readonly string[] = ["ENOENT", "ENOTDIR", "ELOOP"];

class TreeWalk implements Disposable {
  readonly #visit: Visit;
  readonly #mount: string;
  readonly #levels: Level[] = [];
  /** Of the last level. */
  readonly #reader = new DirectoryReader();
  /** The directory of the last level. */
  #fd: number;

  constructor(path: string, visit: Visit) {
    this.#visit = visit;
    this.#fd = openSync(path, OPEN_DIRECTORY);
    this.#mount = mountOf(this.#fd);
    this.#begin(avoidedIn(this.#fd));
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  *run(): Generator<void, void> {
    for (let entries = 1; ; entries += 1) {
      if (entries % STEP_ENTRIES === 0) yield;
      const entry = this.#reader.next();
      if (entry !== undefined) this.#enter(entry);
      else if (this.#leave()) return;
    }
  }

  #begin(avoided: readonly string[]): void {
    if (this.#levels.length >= MAX_DEPTH)
      throw new Error(`it is deeper than ${MAX_DEPTH} directories`);
    const { dev, ino } = fstatSync(this.#fd);
    this.#levels.push({ dev, ino, next: 0n, avoided });
    this.#reader.open(this.#fd);
  }

  #enter({ name, next }: DirectoryEntry): void {
    const level = this.#levels.at(-1);
    const avoided = avoidedBelow(level?.avoided ?? [], name);
    // Not even its kind can be asked for: the call might never return.
    if (avoided.includes("")) return;
    const path = at(this.#fd, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return;
    if (!stats.isDirectory()) return this.#visit(path, stats);
    // Names whose hashes collide share a place: without progress the same directory would be entered for ever.
    if (level === undefined || level.next === next) return;
    const fd = ignoring(REPLACED, () => openSync(path, OPEN_DIRECTORY));
    if (fd === undefined) return;
    if (mountOf(fd) !== this.#mount) return closeSync(fd);
    level.next = next;
    closeSync(this.#fd);
    this.#fd = fd;
    this.#begin(avoided);
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
    const { dev, ino } = fstatSync(fd);
    // Continuing from another directory could lead out of the tree.
    if (dev !== parent.dev || ino !== parent.ino) throw new Error("a directory in it was moved");
    this.#reader.open(fd, parent.next);
    return false;
  }
}

/** The mounts that may hang, as paths below an open directory. */
function avoidedIn(directory: number): readonly string[] {
  const points = hangableMounts();
  if (points.size === 0) return [];
  const prefix = `${readlinkSync(`/proc/self/fd/${directory}`)}/`;
  return [...points.keys()].flatMap((point) =>
    point.startsWith(prefix) ? [point.slice(prefix.length)] : [],
  );
}

/** What of them is below the entry of this name; "" is the entry itself. */
function avoidedBelow(avoided: readonly string[], name: Uint8Array): readonly string[] {
  if (avoided.length === 0) return avoided;
  const first = new TextDecoder().decode(name);
  return avoided.flatMap((path) =>
    path === first || path.startsWith(`${first}/`) ? [path.slice(first.length + 1)] : [],
  );
}

/** The unit of `blocks` in stat, for every file system. */
const BLOCK_BYTES = 512;

/** Bytes on disk of a directory and its content, on its own mount only; a hard-linked file counts once. kubelet: fs.DiskUsage */
export function diskUsage(path: string): number {
  const walk = treeUsage(path);
  for (;;) {
    const step = walk.next();
    if (step.done === true) return step.value.bytes;
  }
}

/** The same with the number of inodes, in steps of some ms; each yields what has been counted so far. */
export function* treeUsage(path: string): Generator<TreeUsage, TreeUsage> {
  let blocks = 0;
  let inodes = 0;
  const visit = (_: Buffer, stats: Stats): void => {
    // A share for each name: remembering the files with several names would take memory for each.
    const share = stats.isDirectory() ? 1 : 1 / Math.max(1, stats.nlink);
    blocks += stats.blocks * share;
    inodes += share;
  };
  const counted = (): TreeUsage => {
    return { bytes: Math.round(blocks) * BLOCK_BYTES, inodes: Math.round(inodes) };
  };
  for (const _ of walkInSteps(path, visit)) yield counted();
  return counted();
}
