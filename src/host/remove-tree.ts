// Removes a directory that a hostile pod has filled: follows no link, enters no other mount, needs no memory per level.

import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { dirname } from "node:path";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const OPEN_DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** Below this depth directories are moved up to the top: open files and stack stay bounded. */
const MAX_DEPTH = 64;

/** Nothing there = fine. Throws when a mount point is in the way (its content is untouched) or something cannot be removed. */
export function removeTree(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory()) return unlinkSync(path);
  const removal = new TreeRemoval(path);
  try {
    removal.run();
  } finally {
    removal.close();
  }
  rmdirSync(path);
}

class TreeRemoval {
  readonly #path: string;
  readonly #top: number;
  readonly #mount: string;
  #deep = 0;

  constructor(path: string) {
    this.#path = path;
    this.#top = openSync(path, OPEN_DIRECTORY);
    this.#mount = mountOf(this.#top);
    if (this.#mount !== mountOfParent(path)) {
      this.close();
      throw new Error("it is a mount point");
    }
  }

  close(): void {
    closeSync(this.#top);
  }

  run(): void {
    // Each round brings directories from below MAX_DEPTH up to the top; the next one takes them.
    for (let before = -1; before !== this.#deep;) {
      before = this.#deep;
      this.#empty(this.#top, 0);
    }
  }

  #empty(directory: number, depth: number): void {
    for (const name of readdirSync(`/proc/self/fd/${directory}`, { encoding: "buffer" })) {
      const entry = at(directory, name);
      const stats = lstatSync(entry, { throwIfNoEntry: false });
      if (stats === undefined) continue;
      if (!stats.isDirectory()) unlinkSync(entry);
      else if (depth < MAX_DEPTH) this.#removeDirectory(entry, depth);
      else this.#moveUp(entry);
    }
  }

  #removeDirectory(entry: Buffer, depth: number): void {
    const fd = openSync(entry, OPEN_DIRECTORY);
    try {
      // The id tells a bind mount of the same file system too, which st_dev does not.
      if (mountOf(fd) !== this.#mount) throw new Error(`a mount point is inside of ${this.#path}`);
      this.#empty(fd, depth + 1);
    } finally {
      closeSync(fd);
    }
    rmdirSync(entry);
  }

  #moveUp(entry: Buffer): void {
    let target: Buffer;
    do {
      this.#deep += 1;
      target = at(this.#top, Buffer.from(`.removing-${this.#deep}`));
    } while (lstatSync(target, { throwIfNoEntry: false }) !== undefined);
    renameSync(entry, target);
  }
}

/** A path relative to an open directory: nobody can slip a link in above it. Names are bytes, not text. */
function at(directory: number, name: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]);
}

function mountOf(fd: number): string {
  return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "";
}

function mountOfParent(path: string): string {
  const fd = openSync(dirname(path), O_RDONLY | O_DIRECTORY);
  try {
    return mountOf(fd);
  } finally {
    closeSync(fd);
  }
}
