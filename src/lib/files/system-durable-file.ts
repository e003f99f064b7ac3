// Performs: writes files so that a power cut at any moment leaves the old content or the new one, and what was reported as
// written is there afterwards. Every file that matters is written through here.

import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { ignoring } from "../errors.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

export type Data = Uint8Array | string;

/** Another name in the same directory, fsync, rename, fsync of the directory. */
export function writeAtomic(path: string, data: Data, mode: number): void {
  const temporary = join(dirname(path), `.${basename(path)}.tmp`);
  removeFile(temporary);
  try {
    writeNew(temporary, data, { mode, sync: true });
    renameSync(temporary, path);
  } catch (error) {
    removeFile(temporary);
    throw error;
  }
  syncPath(dirname(path));
}

/** A file that must not exist yet: a key is never written over. What cannot be written whole is removed. */
export function writeNewDurably(path: string, data: Data, mode: number): void {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    fill(fd, data, { mode, sync: true });
  } catch (error) {
    removeFile(path);
    throw error;
  } finally {
    closeSync(fd);
  }
  syncPath(dirname(path));
}

/** For what is on the disk already; both names are in file systems that the agent may wait for. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  syncPath(dirname(to));
  if (dirname(from) !== dirname(to)) syncPath(dirname(from));
}

/** fsync of a file or directory. */
export function syncPath(path: string): void {
  const fd = openSync(path, O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** fsync of the directory that holds a name, after the name has come or gone. */
export function syncDirectoryOf(path: string): void {
  const fd = openSync(dirname(path), O_RDONLY | O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

interface NewFile {
  readonly mode: number;
  readonly sync: boolean;
}

/** Fails if the path exists. A failure may leave a part of it. */
export function writeNew(path: string, data: Data, file: NewFile): void {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, file.mode);
  try {
    fill(fd, data, file);
  } finally {
    closeSync(fd);
  }
}

function fill(fd: number, data: Data, { mode, sync }: NewFile): void {
  fchmodSync(fd, mode);
  writeAll(fd, data);
  if (sync) fsyncSync(fd);
}

/** From the beginning of the file on. */
export function writeAll(fd: number, data: Data): void {
  const bytes = Buffer.from(data);
  for (let written = 0; written < bytes.length;)
    written += writeSync(fd, bytes, written, bytes.length - written, written);
}

/** A file that may be missing. */
export function removeFile(path: string): void {
  ignoring(["ENOENT", "ENOTDIR"], () => unlinkSync(path));
}
