// Performs: reads an open directory in small pieces, because a hostile pod decides how many names it has.

import { DIRENT, readDirents, seekTo } from "../libc.ts";

/** `name` is valid until the next entry is read. */
export interface DirectoryEntry {
  readonly name: Uint8Array;
  /** Whether it is a directory; undefined = the file system does not store it with the name. */
  readonly isDirectory: boolean | undefined;
  /** Where reading goes on after this entry. */
  readonly next: bigint;
}

/** About 128 short names. Small, because a walk reads one piece again for each directory that it leaves. */
const PIECE_BYTES = 4096;
const DT_UNKNOWN = 0;
const DT_DIR = 4;
const DOT = 0x2e;
/** Offsets in struct linux_dirent64. */
const { NEXT, LENGTH, TYPE, NAME } = DIRENT;

/** Holds one piece of the names, in one buffer for all directories that it opens one after another. */
export class DirectoryReader {
  readonly #buffer = Buffer.alloc(PIECE_BYTES);
  #fd = -1;
  #at = 0;
  #end = 0;

  /** Begins with the first entry, or with the one at `from`. The descriptor stays the caller's. */
  open(fd: number, from = 0n): void {
    this.#fd = fd;
    this.#at = 0;
    this.#end = 0;
    seekTo(fd, from);
  }

  /** undefined at the end. */
  next(): DirectoryEntry | undefined {
    for (;;) {
      if (this.#at >= this.#end && !this.#fill()) return undefined;
      const entry = this.#take();
      if (!isSelfOrParent(entry.name)) return entry;
    }
  }

  #fill(): boolean {
    this.#at = 0;
    this.#end = readDirents(this.#fd, this.#buffer);
    return this.#end > 0;
  }

  #take(): DirectoryEntry {
    const start = this.#at;
    const length = this.#buffer.readUInt16LE(start + LENGTH);
    const name = this.#buffer.subarray(start + NAME, start + length);
    const type = this.#buffer[start + TYPE];
    this.#at += length;
    return {
      name: name.subarray(0, name.indexOf(0)),
      isDirectory: type === DT_UNKNOWN ? undefined : type === DT_DIR,
      next: this.#buffer.readBigInt64LE(start + NEXT),
    };
  }
}

function isSelfOrParent(name: Uint8Array): boolean {
  if (name[0] !== DOT) return false;
  return name.length === 1 || (name.length === 2 && name[1] === DOT);
}
