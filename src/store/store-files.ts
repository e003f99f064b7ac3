// Performs: the file system as the store uses it, besides SQLite's own files; `Files` of host/files implements it.

export interface StoreFileInfo {
  readonly name: string;
  readonly kind: "file" | "directory" | "symlink" | "other";
  /** Bytes. */
  readonly size: number;
  /** Permission bits, with setuid, setgid and sticky. */
  readonly mode: number;
}

/** Synchronous; every method throws when it fails. */
export interface StoreFiles {
  list(directory: string): readonly StoreFileInfo[];
  /** lstat; undefined when there is nothing. */
  info(path: string): StoreFileInfo | undefined;
  read(path: string, maxBytes: number): Uint8Array;
  /** Atomic and durable. */
  writeAtomic(path: string, data: Uint8Array | string, mode: number): void;
  makeDirectory(path: string, mode: number): void;
  setMode(path: string, mode: number): void;
  rename(from: string, to: string): void;
  remove(path: string): void;
}
