// Performs: names below an open directory: nobody can slip a link in above them. What walks through the trees of
// hostile pods.

import { closeSync, constants, openSync, readFileSync } from "node:fs";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
export const OPEN_DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** Names the thing itself, whatever it is, and opens nothing: O_PATH | O_CLOEXEC | O_NOFOLLOW. */
export const OPEN_PATH = 0o10000000 | 0o2000000 | O_NOFOLLOW;

/** A path relative to an open directory. Names are bytes, not text. */
export function at(directory: number, name: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]);
}

/** The mount that an open file is on: tells a bind mount of the same file system too, which st_dev does not. */
export function mountOf(fd: number): string {
  return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "";
}

/** Opens for as long as `use` runs. */
export function opened<T>(path: string | Buffer, flags: number, use: (fd: number) => T): T {
  const fd = openSync(path, flags);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

export function errorCode(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}
