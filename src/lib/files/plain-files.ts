// Performs: the part of the file system that rooms below `host` use as well; `Files` of host/files has the rest.

export type FileKind = "file" | "directory" | "symlink" | "other";

/** Of lstat; the size in bytes. */
export interface PlainFileInfo {
  readonly name: string;
  readonly kind: FileKind;
  readonly size: number;
  /** Permission bits, with setuid, setgid and sticky. */
  readonly mode: number;
}

/** Synchronous. Every method throws when it fails. */
export interface PlainFiles {
  /** Entries of a directory by lstat (symlinks are not followed), sorted by name. */
  list(directory: string): readonly PlainFileInfo[];
  /** lstat of one path; undefined when there is nothing. */
  info(path: string): PlainFileInfo | undefined;
  /** Bytes of a regular file of at most `maxBytes`, opened with O_NOFOLLOW | O_NONBLOCK; an oversize or special file throws. */
  read(path: string, maxBytes: number): Uint8Array;
  /** Temp name in the same directory, fsync, rename, fsync of the directory. */
  writeAtomic(path: string, data: Uint8Array | string, mode: number): void;
  /**
   * Writes over the beginning of a file, which it creates if there is none, without fsync. The file never becomes
   * shorter. What was written survives the end of the process, but not that of the machine.
   */
  writeInPlace(path: string, data: Uint8Array | string, mode: number): void;
  makeDirectory(path: string, mode: number): void;
  /** chmod, not subject to the umask. */
  setMode(path: string, mode: number): void;
  /** For what a power cut may undo. */
  rename(from: string, to: string): void;
  /** On the disk when it returns. */
  renameDurably(from: string, to: string): void;
  /** Removes a file if it is there. */
  remove(path: string): void;
}
