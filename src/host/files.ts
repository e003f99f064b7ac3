// Performs: the file system as the agent uses it. Synchronous, so that no call of the agent runs between the steps of another.

import type { PlainFileInfo, PlainFiles } from "../lib/files/plain-files.ts";
import type { HangableMount } from "./mount-table.ts";
import type { TreeUsage } from "./tree/walk-tree.ts";
import type { ShareOptions } from "./tree/fs-group.ts";

/** The result of lstat; times in ms. */
export interface FileInfo extends PlainFileInfo {
  readonly mtimeMs: number;
  /** The number of the user. */
  readonly owner: number;
  /** `dev:ino`: differs when a file or directory was recreated. */
  readonly identity: string;
  /** The kind of `other`; absent = another one, e.g. a FIFO. */
  readonly special?: "socket" | "charDevice" | "blockDevice";
}

/**
 * What happened to a name, in order. `MovedIn`: renamed to it (also over it), by the rename itself; `MovedOut`: renamed
 * away; `Created`: new and probably empty; `Written`: content changed; `Closed`: was open for writing until now;
 * `CameOrWent`: `MovedIn`, `MovedOut`, `Created` or `Deleted`, it is unknown which.
 */
export type NameHint =
  "MovedIn" | "MovedOut" | "Created" | "Deleted" | "Written" | "Closed" | "CameOrWent";

/** `SelfGone`: the directory itself was removed or renamed, or the watch has ended; `Unknown`: the caller must list it. */
export type DirectoryHint =
  | { readonly type: NameHint; readonly name: string }
  | { readonly type: "SelfGone" }
  | { readonly type: "Unknown" };

export interface DirectoryWatch extends Disposable {
  /** Delivers the hints so far without waiting for a wake-up: those are merged within a few ms. */
  poll(): void;
}

/** Every method throws AgentError `FileError` with the path in its message, unless noted otherwise. */
export interface Files extends PlainFiles {
  list(directory: string): readonly FileInfo[];
  info(path: string): FileInfo | undefined;
  /** stat (follows symlinks); undefined when there is nothing or the link is broken or a loop. */
  target(path: string): FileInfo | undefined;
  /**
   * The path with every link resolved; names that do not exist, and those on a file system that may hang, are kept as they
   * are. undefined when a broken link is on the way, or `..` after a name that does not exist.
   */
  place(path: string): string | undefined;
  /** The file system that may hang into which a path leads, found without touching it; undefined = there is none. */
  hangable(path: string): HangableMount | undefined;
  /** Like `read`, but follows symbolic links, which the system's configuration files often are. */
  readFollowing(path: string, maxBytes: number): Uint8Array;
  /**
   * Bytes of a regular file of at most `maxBytes` below a directory that a hostile pod writes to; no link leads out of it.
   * undefined when there is nothing. The message names only `path`, which is relative.
   */
  readBeneath(root: string, path: string, maxBytes: number): Uint8Array | undefined;
  /** The last `maxBytes` bytes of a regular file, or all of it. */
  tail(path: string, maxBytes: number): Uint8Array;
  /** At most `maxBytes` bytes of a regular file from `offset` on; none at its end. */
  readFrom(path: string, offset: number, maxBytes: number): Uint8Array;
  /** Creates a file or replaces an existing one, without fsync. */
  writeLazily(path: string, data: Uint8Array | string, mode: number): void;
  /** The target of a symbolic link; undefined when there is nothing, or no link. */
  readLink(path: string): string | undefined;
  /** Creates a symbolic link; fails if the path exists. */
  makeLink(path: string, target: string): void;
  /**
   * Creates an empty file, or a directory with its missing parents, unless the path exists, whatever it is then. Throws
   * when a symbolic link is on the way.
   */
  createFile(path: string, mode: number): void;
  createDirectory(path: string, mode: number): void;
  /** Removes a directory if it exists, is empty and not busy. */
  removeEmptyDirectory(path: string): void;
  /** Removes a tree without following symlinks or crossing a mount point; a missing path is ignored. */
  removeTree(path: string): void;
  /** Gives a tree to a group, without following symlinks or crossing a mount point. */
  shareTree(path: string, options: ShareOptions): void;
  /**
   * `shareTree` and `removeTree` for large trees, in steps of some ms between which the caller yields to the event loop.
   * They do nothing to a small tree. `shareLargeTree` returns true for a large one; `emptyLargeTree` keeps the directory itself.
   */
  shareLargeTree(path: string, options: ShareOptions): Generator<void, boolean>;
  emptyLargeTree(path: string): Generator<void, void>;
  /** Bytes on disk of a tree, walked in the same way. */
  diskUsage(path: string): number;
  /** The same with the number of inodes, in steps of some ms; nothing of a path that does not exist. */
  treeUsage(path: string): Generator<TreeUsage, TreeUsage>;
  /** Hints until disposed; never throws (no watch possible = no hints). */
  watch(directory: string, onHint: (hint: DirectoryHint) => void): DirectoryWatch;
}
