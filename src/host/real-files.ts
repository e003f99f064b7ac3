// Performs: implements `Files` on the real file system.

import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
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
  type Stats,
} from "node:fs";
import { basename, join } from "node:path";
import { AgentError, errorCode, ignoring, messageOf } from "../lib/errors.ts";
import { hangableMounts, type HangableMount } from "./mount-table.ts";
import {
  AvoidedMount,
  createDirectory,
  createFile,
  openBeneath,
  pathOf,
  reach,
} from "./tree/open-beneath.ts";
import { closing } from "./tree/directory-fd.ts";
import { diskUsage, treeUsage, type TreeUsage } from "./tree/walk-tree.ts";
import type { FileKind } from "../lib/files/plain-files.ts";
import {
  removeFile,
  renameDurably,
  writeAll,
  writeAtomic,
  writeNew,
  type Data,
} from "../lib/files/system-durable-file.ts";
import type { FileInfo, Files } from "./files.ts";
import { emptyLargeTree, removeTree } from "./tree/remove-tree.ts";
import { shareLargeTree, shareTree } from "./tree/fs-group.ts";
import { watchDirectory } from "./watch-directory.ts";

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const OPEN_TO_READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const NOTHING_THERE: readonly string[] = ["ENOENT", "ENOTDIR"];
const BROKEN_LINK: readonly string[] = [...NOTHING_THERE, "ELOOP"];
/** EINVAL: it is not a link. */
const NO_LINK: readonly string[] = [...NOTHING_THERE, "EINVAL"];
const NOT_REMOVABLE: readonly string[] = [...NOTHING_THERE, "ENOTEMPTY", "EBUSY", "EEXIST"];

/** Files on this machine's file systems. */
export function realFiles(): Files {
  return {
    list: attempt("list", list),
    info: attempt("look at", (path) => infoOf(path, lstatSync, NOTHING_THERE)),
    target: attempt("look at", (path) => infoOf(path, statSync, BROKEN_LINK)),
    place: attempt("look at", placeOf),
    hangable: attempt("look at", hangableOf),
    read: attempt("read", readRegular),
    readFollowing: attempt("read", (path, maxBytes) => readRegular(realpathSync(path), maxBytes)),
    readBeneath(root, path, maxBytes) {
      try {
        return readBeneath(root, path, maxBytes);
      } catch (cause) {
        throw new AgentError({ reason: "FileError", message: messageOf(cause), cause });
      }
    },
    readFrom: attempt("read", readPart),
    tail: attempt("read", (path, maxBytes) => readPart(path, undefined, maxBytes)),
    writeAtomic: attempt("write", writeAtomic),
    writeLazily: attempt("write", writeLazily),
    writeInPlace: attempt("write", writeInPlace),
    readLink: attempt("look at", (path) => ignoring(NO_LINK, () => readlinkSync(path))),
    makeLink: attempt("link", (path, target) => symlinkSync(target, path)),
    makeDirectory: attempt("create the directory", makeDirectory),
    createFile: attempt("create the file", createFile),
    createDirectory: attempt("create the directory", createDirectory),
    setMode: attempt("change the mode of", chmodSync),
    rename: attempt("rename", renameSync),
    renameDurably: attempt("rename", renameDurably),
    remove: attempt("remove", removeFile),
    removeEmptyDirectory: attempt("remove the directory", (path) =>
      ignoring(NOT_REMOVABLE, () => rmdirSync(path)),
    ),
    removeTree: attempt("remove", removeTree),
    shareTree: attempt("give to a group", shareTree),
    shareLargeTree: attemptInSteps("give to a group", shareLargeTree),
    emptyLargeTree: attemptInSteps("remove", emptyLargeTree),
    diskUsage: attempt("measure", diskUsage),
    treeUsage: attemptInSteps("measure", usageIfAny),
    watch: watchDirectory,
  };
}

type OnPath<Rest extends readonly unknown[], T> = (path: string, ...rest: Rest) => T;

/** The same function with its errors as AgentError `FileError`. */
function attempt<Rest extends readonly unknown[], T>(
  what: string,
  run: OnPath<Rest, T>,
): OnPath<Rest, T> {
  return (path, ...rest) => {
    try {
      return run(path, ...rest);
    } catch (cause) {
      throw fileError(what, path, cause);
    }
  };
}

function attemptInSteps<Rest extends readonly unknown[], Step, T>(
  what: string,
  run: OnPath<Rest, Generator<Step, T>>,
): OnPath<Rest, Generator<Step, T>> {
  return function* (path, ...rest) {
    try {
      return yield* run(path, ...rest);
    } catch (cause) {
      throw fileError(what, path, cause);
    }
  };
}

function fileError(what: string, path: string, cause: unknown): AgentError {
  const message = `cannot ${what} ${path}: ${messageOf(cause)}`;
  return new AgentError({ reason: "FileError", message, cause });
}

function* usageIfAny(path: string): Generator<TreeUsage, TreeUsage> {
  if (infoOf(path, lstatSync, NOTHING_THERE)?.kind !== "directory") return { bytes: 0, inodes: 0 };
  return yield* treeUsage(path);
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
  // Most paths do not exist, and an exception is expensive.
  const stats = ignoring(nothing, () => stat(path, { throwIfNoEntry: false }));
  return stats === undefined ? undefined : fileInfo(path, stats);
}

export function fileInfo(path: string, stats: Stats): FileInfo {
  const { size, mtimeMs, dev, ino, uid: owner } = stats;
  const identity = `${dev}:${ino}`;
  const kind = kindOf(stats);
  const mode = stats.mode & 0o7777;
  const name = basename(path);
  return { name, kind, size, mtimeMs, owner, mode, identity, ...specialOf(stats) };
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

function placeOf(path: string): string | undefined {
  try {
    const reached = reach(path, hangableMounts());
    return closing(reached.fd, () => (reached.isBroken ? undefined : pathOf(reached)));
  } catch (error) {
    if (error instanceof AvoidedMount) return error.path;
    throw error;
  }
}

function hangableOf(path: string): HangableMount | undefined {
  const avoid = hangableMounts();
  if (avoid.size === 0) return undefined;
  try {
    closeSync(reach(path, avoid).fd);
    return undefined;
  } catch (error) {
    // What else is wrong with the path is for its user to find.
    return error instanceof AvoidedMount ? error.mount : undefined;
  }
}

/** Opening neither follows a link nor waits for the other end of a FIFO. */
function openedFile<T>(path: string, use: (fd: number, stats: Stats) => T): T {
  return closing(openSync(path, OPEN_TO_READ), (fd) => {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error("not a regular file");
    return use(fd, stats);
  });
}

/** The limit applies to the bytes read. */
function readRegular(path: string, maxBytes: number): Uint8Array {
  return openedFile(path, (fd, stats) => {
    const bytes = readWhole(fd, stats, maxBytes);
    if (bytes === undefined) throw new Error(`larger than ${maxBytes} bytes`);
    return bytes;
  });
}

function readBeneath(root: string, path: string, maxBytes: number): Uint8Array | undefined {
  const avoid = hangableMounts();
  const found = ignoring(["ENOENT"], () => openBeneath({ root, path, create: false, avoid }));
  if (found === undefined) return undefined;
  return closing(found, (place) => {
    const stats = fstatSync(place);
    // Opening a FIFO or a device may have an effect.
    if (!stats.isFile()) throw new Error(`${JSON.stringify(path)} is no regular file`);
    // The path through /proc is a link.
    return closing(openSync(`/proc/self/fd/${place}`, OPEN_TO_READ & ~O_NOFOLLOW), (fd) => {
      const bytes = readWhole(fd, stats, maxBytes);
      if (bytes !== undefined) return bytes;
      throw new Error(`${JSON.stringify(path)} is larger than ${maxBytes} bytes`);
    });
  });
}

/** undefined = there are more bytes. */
function readWhole(fd: number, { size }: Stats, maxBytes: number): Uint8Array | undefined {
  if (size > maxBytes) return undefined;
  // Files of /proc and /sys report size 0; a growing file may exceed its reported size.
  const chunks: Buffer[] = [];
  for (let total = 0; ;) {
    const chunk = Buffer.allocUnsafe(Math.max(4096, size + 1 - total));
    const got = readSync(fd, chunk, 0, chunk.length, null);
    if (got === 0) return new Uint8Array(Buffer.concat(chunks));
    total += got;
    if (total > maxBytes) return undefined;
    chunks.push(chunk.subarray(0, got));
  }
}

/** `offset` undefined = the last `maxBytes` bytes. */
function readPart(path: string, offset: number | undefined, maxBytes: number): Uint8Array {
  return openedFile(path, (fd, stats) => {
    const from = offset ?? Math.max(0, stats.size - maxBytes);
    const chunk = Buffer.allocUnsafe(Math.max(0, Math.min(maxBytes, stats.size - from)));
    const got = readSync(fd, chunk, 0, chunk.length, from);
    return new Uint8Array(chunk.subarray(0, got));
  });
}

function writeLazily(path: string, data: Data, mode: number): void {
  try {
    writeNew(path, data, { mode, sync: false });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    removeFile(path);
    writeNew(path, data, { mode, sync: false });
  }
}

function writeInPlace(path: string, data: Data, mode: number): void {
  closing(openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, mode), (fd) => writeAll(fd, data));
}

/** The mode applies only to a new directory. */
function makeDirectory(path: string, mode: number): void {
  const first = mkdirSync(path, { recursive: true, mode });
  if (first !== undefined) chmodSync(path, mode);
}
