// Performs: implements `Files` on the real file system.

import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeSync,
  type Stats,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { AgentError, messageOf } from "../lib/errors.ts";
import { createDirectory, createFile } from "./tree/open-beneath.ts";
import { errorCode, opened } from "./tree/directory-fd.ts";
import { diskUsage } from "./tree/walk-tree.ts";
import type { FileInfo, FileKind, Files } from "./files.ts";
import { emptyLargeTree, removeTree } from "./tree/remove-tree.ts";
import { shareLargeTree, shareTree } from "./tree/share-tree.ts";
import { watchDirectory } from "./watch-directory.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const OPEN_TO_READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const NOTHING_THERE: readonly string[] = ["ENOENT", "ENOTDIR"];

/** Files on this machine's file systems. */
export function realFiles(): Files {
  return {
    list: (directory) => attempt("list", directory, () => list(directory)),
    info: (path) => attempt("look at", path, () => infoOf(path, lstatSync, NOTHING_THERE)),
    target: (path) =>
      attempt("look at", path, () => infoOf(path, statSync, [...NOTHING_THERE, "ELOOP"])),
    realPath: (path) => attempt("look at", path, () => realPath(path)),
    read: (path, maxBytes) => attempt("read", path, () => readRegular(path, maxBytes)),
    readFollowing: (path, maxBytes) =>
      attempt("read", path, () => readRegular(realpathSync(path), maxBytes)),
    readFrom: (path, offset, maxBytes) =>
      attempt("read", path, () => readPart(path, offset, maxBytes)),
    tail: (path, maxBytes) => attempt("read", path, () => readPart(path, undefined, maxBytes)),
    writeAtomic: (path, data, mode) =>
      attempt("write", path, () => writeAtomic(path, Buffer.from(data), mode)),
    writeEmpty: (path, mode) =>
      attempt("write", path, () => writeLazily(path, new Uint8Array(), mode)),
    writeLazily: (path, data, mode) =>
      attempt("write", path, () => writeLazily(path, Buffer.from(data), mode)),
    readLink: (path) => attempt("look at", path, () => readLink(path)),
    makeLink: (path, target) => attempt("link", path, () => symlinkSync(target, path)),
    makeDirectory: (path, mode) =>
      attempt("create the directory", path, () => makeDirectory(path, mode)),
    createFile: (path, mode) => attempt("create the file", path, () => createFile(path, mode)),
    createDirectory: (path, mode) =>
      attempt("create the directory", path, () => createDirectory(path, mode)),
    setMode: (path, mode) => attempt("change the mode of", path, () => chmodSync(path, mode)),
    rename: (from, to) => attempt("rename", from, () => renameSync(from, to)),
    remove: (path) => attempt("remove", path, () => remove(path)),
    removeEmptyDirectory: (path) =>
      attempt("remove the directory", path, () => removeEmptyDirectory(path)),
    removeTree: (path) => attempt("remove", path, () => removeTree(path)),
    shareTree: (path, options) => attempt("give to a group", path, () => shareTree(path, options)),
    shareLargeTree: (path, options) =>
      attemptInSteps("give to a group", path, () => shareLargeTree(path, options)),
    emptyLargeTree: (path) => attemptInSteps("remove", path, () => emptyLargeTree(path)),
    diskUsage: (path) => attempt("measure", path, () => diskUsage(path)),
    watch: watchDirectory,
  };
}

function attempt<T>(what: string, path: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw fileError(what, path, cause);
  }
}

function* attemptInSteps<T>(
  what: string,
  path: string,
  run: () => Generator<void, T>,
): Generator<void, T> {
  try {
    return yield* run();
  } catch (cause) {
    throw fileError(what, path, cause);
  }
}

function fileError(what: string, path: string, cause: unknown): AgentError {
  const message = `cannot ${what} ${path}: ${messageOf(cause)}`;
  return new AgentError({ reason: "FileError", message, cause });
}

function list(directory: string): readonly FileInfo[] {
  const names = readdirSync(directory).toSorted();
  // Skips names that vanished since.
  return names.flatMap((name) => infoOf(join(directory, name), lstatSync, NOTHING_THERE) ?? []);
}

function infoOf(
  path: string,
  stat: typeof lstatSync,
  nothing: readonly string[],
): FileInfo | undefined {
  try {
    // Most paths do not exist, and an exception is expensive.
    const stats = stat(path, { throwIfNoEntry: false });
    return stats === undefined ? undefined : describe(path, stats);
  } catch (error) {
    if (nothing.includes(errorCode(error))) return undefined;
    throw error;
  }
}

function describe(path: string, stats: Stats): FileInfo {
  const { size, mtimeMs, dev, ino } = stats;
  const identity = `${dev}:${ino}`;
  const kind = kindOf(stats);
  const mode = stats.mode & 0o7777;
  return { name: basename(path), kind, size, mtimeMs, mode, identity, ...specialOf(stats) };
}

function kindOf(stats: Stats): FileKind {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "symlink" : "other";
}

function specialOf(stats: Stats): Pick<FileInfo, "special"> {
  if (stats.isSocket()) return { special: "socket" };
  if (stats.isCharacterDevice()) return { special: "charDevice" };
  return stats.isBlockDevice() ? { special: "blockDevice" } : {};
}

/** Opening neither follows a link nor waits for the other end of a FIFO; the limit applies to the bytes read. */
function readRegular(path: string, maxBytes: number): Uint8Array {
  return opened(path, OPEN_TO_READ, (fd) => {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error("not a regular file");
    if (stats.size > maxBytes) throw new Error(`larger than ${maxBytes} bytes`);
    // Files of /proc and /sys report size 0; a growing file may exceed its reported size.
    const chunks: Buffer[] = [];
    for (let total = 0; ;) {
      const chunk = Buffer.allocUnsafe(Math.max(4096, stats.size + 1 - total));
      const got = readSync(fd, chunk, 0, chunk.length, null);
      if (got === 0) return new Uint8Array(Buffer.concat(chunks));
      total += got;
      if (total > maxBytes) throw new Error(`larger than ${maxBytes} bytes`);
      chunks.push(chunk.subarray(0, got));
    }
  });
}

/** `offset` undefined = the last `maxBytes` bytes. */
function readPart(path: string, offset: number | undefined, maxBytes: number): Uint8Array {
  return opened(path, OPEN_TO_READ, (fd) => {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error("not a regular file");
    const from = offset ?? Math.max(0, stats.size - maxBytes);
    const chunk = Buffer.allocUnsafe(Math.max(0, Math.min(maxBytes, stats.size - from)));
    const got = readSync(fd, chunk, 0, chunk.length, from);
    return new Uint8Array(chunk.subarray(0, got));
  });
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    // EINVAL: it is not a link.
    if ([...NOTHING_THERE, "EINVAL"].includes(errorCode(error))) return undefined;
    throw error;
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if ([...NOTHING_THERE, "ELOOP"].includes(errorCode(error))) return undefined;
    throw error;
  }
}

function writeAtomic(path: string, data: Uint8Array, mode: number): void {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.tmp`);
  remove(temporary);
  try {
    writeNew(temporary, data, mode, fsyncSync);
    renameSync(temporary, path);
  } catch (error) {
    remove(temporary);
    throw error;
  }
  opened(directory, O_RDONLY | O_DIRECTORY, fsyncSync);
}

function writeLazily(path: string, data: Uint8Array, mode: number): void {
  const finish = (): void => undefined;
  try {
    writeNew(path, data, mode, finish);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    remove(path);
    writeNew(path, data, mode, finish);
  }
}

/** `finish` runs last on the open file. */
function writeNew(
  path: string,
  data: Uint8Array,
  mode: number,
  finish: (fd: number) => void,
): void {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    fchmodSync(fd, mode);
    for (let written = 0; written < data.length;) {
      written += writeSync(fd, data, written, data.length - written);
    }
    finish(fd);
  } finally {
    closeSync(fd);
  }
}

/** The mode applies only to a new directory. */
function makeDirectory(path: string, mode: number): void {
  const first = mkdirSync(path, { recursive: true, mode });
  if (first !== undefined) chmodSync(path, mode);
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!NOTHING_THERE.includes(errorCode(error))) throw error;
  }
}

function removeEmptyDirectory(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    if (![...NOTHING_THERE, "ENOTEMPTY", "EBUSY", "EEXIST"].includes(errorCode(error))) throw error;
  }
}
