// Performs: paths relative to an open directory: no link can be placed above them meanwhile. For trees that a hostile
// pod writes to.

import { closeSync, constants, readFileSync } from "node:fs";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
export const OPEN_DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** A descriptor of any kind of entry without opening it: O_PATH | O_CLOEXEC | O_NOFOLLOW. */
export const OPEN_PATH = 0o10000000 | 0o2000000 | O_NOFOLLOW;

/** A path relative to an open directory. Names are bytes, not text. */
export function at(directory: number, name: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]);
}

/** The id of the mount of an open file: unlike st_dev it also differs for a bind mount of the same file system. */
export function mountOf(fd: number): string {
  return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "";
}

/** Closes the descriptor when `use` ends. */
export function closing<T>(fd: number, use: (fd: number) => T): T {
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}
