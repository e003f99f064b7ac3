// Performs: removes a directory filled by a hostile pod: follows no link, enters no other mount, and uses bounded memory
// whatever the depth.

import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { dirname } from "node:path";
import { errorCode } from "../../lib/errors.ts";
import { OPEN_DIRECTORY, at, closing, mountOf } from "./directory-fd.ts";
import { DirectoryReader } from "./read-directory.ts";
import { STEP_ENTRIES, isLargeTree } from "./walk-tree.ts";

/** Directories below this depth are moved to the top, which bounds open files and stack. */
const MAX_DEPTH = 64;

/** A missing path is ignored. Throws when a mount point is inside (its content is untouched) or an entry cannot be removed. */
export function removeTree(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory()) return unlinkSync(path);
  for (const _ of emptyInSteps(path));
  rmdirSync(path);
}

/** Removes the content of a large tree in steps; does nothing to a small one, or to a path that is not a directory. */
export function* emptyLargeTree(path: string): Generator<void, void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  if (isLargeTree(path)) yield* emptyInSteps(path);
}

function* emptyInSteps(path: string): Generator<void, void> {
  using removal = new TreeRemoval(path);
  yield* removal.run();
}

class TreeRemoval implements Disposable {
  readonly #path: string;
  readonly #top: number;
  readonly #mount: string;
  #deep = 0;
  #entries = 0;

  constructor(path: string) {
    this.#path = path;
    this.#top = openSync(path, OPEN_DIRECTORY);
    this.#mount = mountOf(this.#top);
    if (this.#mount !== mountOfParent(path)) {
      this[Symbol.dispose]();
      throw new Error("it is a mount point");
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#top);
  }

  *run(): Generator<void, void> {
    // Each round moves directories from below MAX_DEPTH to the top; the next one removes them.
    for (let before = -1; before !== this.#deep;) {
      before = this.#deep;
      yield* this.#empty(this.#top, 0);
    }
  }

  /** Entries may be skipped while others are removed: the end is reached when reading again finds none. */
  *#empty(directory: number, depth: number): Generator<void, void> {
    const reader = new DirectoryReader();
    for (let before = -1; before !== this.#entries;) {
      before = this.#entries;
      reader.open(directory);
      for (let entry = reader.next(); entry !== undefined; entry = reader.next()) {
        this.#entries += 1;
        if (this.#entries % STEP_ENTRIES === 0) yield;
        const path = at(directory, entry.name);
        if (entry.isDirectory !== true && removeFile(path)) continue;
        if (depth < MAX_DEPTH) yield* this.#removeDirectory(path, depth);
        else yield* this.#moveUp(path);
      }
    }
  }

  *#removeDirectory(entry: Buffer, depth: number): Generator<void, void> {
    const fd = openSync(entry, OPEN_DIRECTORY);
    try {
      if (mountOf(fd) !== this.#mount)
        throw new Error(`there is a mount point inside ${this.#path}`);
      yield* this.#empty(fd, depth + 1);
    } finally {
      closeSync(fd);
    }
    rmdirSync(entry);
  }

  *#moveUp(entry: Buffer): Generator<void, void> {
    for (;;) {
      this.#deep += 1;
      const target = at(this.#top, Buffer.from(`.removing-${this.#deep}`));
      if (lstatSync(target, { throwIfNoEntry: false }) === undefined)
        return renameSync(entry, target);
      // The pod chose this name too, perhaps for very many files.
      if (this.#deep % STEP_ENTRIES === 0) yield;
    }
  }
}

/** False if it is a directory. */
function removeFile(path: Buffer): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return true;
    if (errorCode(error) === "EISDIR") return false;
    throw error;
  }
}

function mountOfParent(path: string): string {
  // The parent's path may be a link.
  return closing(openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY), mountOf);
}
