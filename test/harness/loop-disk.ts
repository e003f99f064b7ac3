// A small disk of its own: a file system in a file, behind a loop device.

import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { runSync } from "./run-command.ts";
import { makeTempDirectory } from "./temp-directory.ts";

export interface LoopDisk extends Disposable {
  /** Where it is mounted. */
  readonly path: string;
}

const MAKE = {
  ext4: ["mkfs.ext4", "-q", "-F", "-m", "0"],
  vfat: ["mkfs.vfat"],
} as const;

/** undefined = this machine has no loop devices, no mkfs, or no such file system. */
export function makeLoopDisk(
  mebibytes: number,
  type: keyof typeof MAKE = "ext4",
): LoopDisk | undefined {
  const temp = makeTempDirectory();
  const image = join(temp.path, "disk.img");
  writeFileSync(image, "");
  truncateSync(image, mebibytes * 1024 * 1024);
  // Directly in the directory, which unmounts what lies below it.
  const path = join(temp.path, "disk");
  mkdirSync(path);
  const made =
    Bun.which(MAKE[type][0]) !== null &&
    runSync([...MAKE[type], image]).code === 0 &&
    runSync(["mount", "-t", type, "-o", "loop", image, path]).code === 0;
  if (!made) {
    temp.remove();
    return undefined;
  }
  return { path, [Symbol.dispose]: () => temp.remove() };
}
