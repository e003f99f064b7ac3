// Performs: Small files, synchronously: a crash can only fall between two calls, never inside an await.

import type { ShareOptions } from "./tree/share-tree.ts";

export type FileKind = "file" | "directory" | "symlink" | "other";

/** What lstat says; sizes in bytes, times in ms. */
export interface FileInfo {
  readonly name: string;
  readonly kind: FileKind;
  readonly size: number;
  readonly mtimeMs: number;
  /** Permission bits, with setuid, setgid and sticky. */
  readonly mode: number;
  /** `dev:ino`, to tell a recreated file or directory from the one before. */
  readonly identity: string;
  /** Which kind of `other`; absent = any further, e.g. a FIFO. */
  readonly special?: "socket" | "charDevice" | "blockDevice";
}

/**
 * What happened to a name, in order. `MovedIn`: renamed to it (also over it), by the rename itself; `MovedOut`: renamed
 * away; `Created`: new and probably empty; `Written`: content changed; `Closed`: was open for writing until now;
 * `CameOrWent`: any of the first two, `Created` or `Deleted`, where nothing tells which.
 */
export type NameHint =
  "MovedIn" | "MovedOut" | "Created" | "Deleted" | "Written" | "Closed" | "CameOrWent";

/** `SelfGone`: the directory itself was removed or renamed, or the watch has ended; `Unknown`: look for yourself. */
export type DirectoryHint =
  | { readonly type: NameHint; readonly name: string }
  | { readonly type: "SelfGone" }
  | { readonly type: "Unknown" };

export interface DirectoryWatch extends Disposable {
  /** Gives the hints that are known by now: what wakes the watch drops repetitions within a few ms. */
  poll(): void;
}

/** Every method throws AgentError `FileError` with the path in its message, unless it says otherwise. */
export interface Files {
  /** Entries of a directory by lstat (symlinks are not followed), sorted by name. */
  list(directory: string): readonly FileInfo[];
  /** lstat of one path; undefined when there is nothing. */
  info(path: string): FileInfo | undefined;
  /** stat (follows symlinks); undefined when there is nothing or the link is broken or a loop. */
  target(path: string): FileInfo | undefined;
  /** Where a path leads when every link on the way is followed; undefined when there is nothing or a link is broken or a loop. */
  realPath(path: string): string | undefined;
  /** Bytes of a regular file of at most `maxBytes`, opened with O_NOFOLLOW | O_NONBLOCK; an oversize or special file throws. */
  read(path: string, maxBytes: number): Uint8Array;
  /** The same for a path that may be a symbolic link, as configuration files of the system often are. */
  readFollowing(path: string, maxBytes: number): Uint8Array;
  /** The last `maxBytes` bytes of a regular file, or all of it. */
  tail(path: string, maxBytes: number): Uint8Array;
  /** At most `maxBytes` bytes of a regular file from `offset` on; none at its end. */
  readFrom(path: string, offset: number, maxBytes: number): Uint8Array;
  /** Temp name in the same directory, fsync, rename, fsync of the directory. */
  writeAtomic(path: string, data: Uint8Array | string, mode: number): void;
  /** A new empty file in place of whatever file is there; the disk learns of it when it likes. */
  writeEmpty(path: string, mode: number): void;
  /** The same with content. */
  writeLazily(path: string, data: Uint8Array | string, mode: number): void;
  /** Where a symbolic link leads; undefined when there is nothing, or something else. */
  readLink(path: string): string | undefined;
  /** A new symbolic link; there must be nothing. */
  makeLink(path: string, target: string): void;
  makeDirectory(path: string, mode: number): void;
  /**
   * An empty file, or a directory with those above it that are missing, where nothing is; what is there stays as it is,
   * whatever it is. Throws where a symbolic link is on the way.
   */
  createFile(path: string, mode: number): void;
  createDirectory(path: string, mode: number): void;
  /** chmod, not subject to the umask. */
  setMode(path: string, mode: number): void;
  rename(from: string, to: string): void;
  /** Removes a file if it is there. */
  remove(path: string): void;
  /** Removes a directory if it is there and empty; one that is not, or is busy, stays. */
  removeEmptyDirectory(path: string): void;
  /** Removes a tree without following symlinks and without crossing a mount point; nothing there = fine. */
  removeTree(path: string): void;
  /** Gives a tree to a group, without following symlinks and without crossing a mount point. */
  shareTree(path: string, options: ShareOptions): void;
  /**
   * The two before, for trees so large that everything else would wait: in steps of some ms, between which whoever asks for
   * them lets others run. Of a small tree nothing is done; true = all of a large one is shared. A large one is emptied.
   */
  shareLargeTree(path: string, options: ShareOptions): Generator<void, boolean>;
  emptyLargeTree(path: string): Generator<void, void>;
  /** Bytes on disk of a tree, walked in the same way. */
  diskUsage(path: string): number;
  /** Hints until disposed; never throws (no watch possible = no hints). */
  watch(directory: string, onHint: (hint: DirectoryHint) => void): DirectoryWatch;
}
