// Performs: looks at everything in a directory that a hostile pod has filled: follows no link, enters no other mount,
// and holds one descriptor however deep it is.

import { closeSync, fstatSync, lstatSync, openSync, readdirSync, type Stats } from "node:fs";
import { OPEN_DIRECTORY, at, errorCode, mountOf } from "./directory-fd.ts";

/** `path` holds good during the visit only; what was there when `stats` were taken may have been replaced since. */
export type Visit = (path: Buffer, stats: Stats) => void;

/** Entries between two moments at which others may run: some milliseconds. */
export const STEP_ENTRIES = 256;
/** Entries of a tree that takes long enough for others to notice. */
const LARGE_ENTRIES = 4 * STEP_ENTRIES;

/** A directory comes after what is in it, `path` itself last. Throws when one was moved away meanwhile. */
export function walkTree(path: string, visit: Visit): void {
  for (const _ of walkInSteps(path, visit));
}

/** The same in steps: whoever asks for them lets others run in between, or breaks off. */
export function* walkInSteps(path: string, visit: Visit): Generator<void, void> {
  const walk = new TreeWalk(path, visit);
  try {
    yield* walk.run();
  } finally {
    walk.close();
  }
}

/** Looks at no more of it than that takes. */
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
/** It went, or became something else, since its name was read. */
const REPLACED: readonly string[] = ["ENOENT", "ENOTDIR", "ELOOP"];

class TreeWalk {
  readonly #visit: Visit;
  readonly #mount: string;
  readonly #levels: Level[] = [];
  /** The directory that the last level is of. */
  #fd: number;

  constructor(path: string, visit: Visit) {
    this.#visit = visit;
    this.#fd = openSync(path, OPEN_DIRECTORY);
    this.#mount = mountOf(this.#fd);
    this.#levels.push(levelOf(this.#fd));
  }

  close(): void {
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
    const fd = openChild(path);
    if (fd === undefined) return;
    if (mountOf(fd) !== this.#mount) return closeSync(fd);
    closeSync(this.#fd);
    this.#fd = fd;
    this.#levels.push(levelOf(fd));
  }

  /** True when it was the last. */
  #leave(): boolean {
    this.#visit(at(this.#fd, SELF), fstatSync(this.#fd));
    this.#levels.pop();
    const parent = this.#levels.at(-1);
    if (parent === undefined) return true;
    const fd = openSync(at(this.#fd, PARENT), OPEN_DIRECTORY);
    closeSync(this.#fd);
    this.#fd = fd;
    // Going on from somewhere else could lead out of the tree.
    if (identityOf(fd) !== parent.identity) throw new Error("a directory in it was moved");
    return false;
  }
}

function openChild(path: Buffer): number | undefined {
  try {
    return openSync(path, OPEN_DIRECTORY);
  } catch (error) {
    if (REPLACED.includes(errorCode(error))) return undefined;
    throw error;
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
