// Performs: gives a volume to the group of `fsGroup`: the directory and its content. kubelet: SetVolumeOwnership

import {
  chmodSync,
  chownSync,
  fstatSync,
  lchownSync,
  openSync,
  statSync,
  type Stats,
} from "node:fs";
import { ignoring } from "../../lib/errors.ts";
import { OPEN_PATH, closing } from "./directory-fd.ts";
import { isLargeTree, walkInSteps } from "./walk-tree.ts";

export interface ShareOptions {
  readonly group: number;
  /** The group may read, but not write. */
  readonly readOnly: boolean;
  /** Skips the tree if its root has the group and its permissions already. kubelet: OnRootMismatch */
  readonly unlessRootFits: boolean;
}

/** Keeps the owner. */
const KEEP = -1;
const READ = 0o440;
const READ_WRITE = 0o660;
/** In addition for directories: the group may enter, and new files in it belong to the group. */
const ENTER = 0o2110;
/** A file system without groups (FAT) or a read-only one; ignored, as the kubelet does. */
const CANNOT: readonly string[] = ["EPERM", "EROFS", "EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EINVAL"];
const GONE: readonly string[] = ["ENOENT"];

export function shareTree(path: string, options: ShareOptions): void {
  for (const _ of shareInSteps(path, options));
}

/** In steps, and only for a large tree: false = it is small and unchanged. */
export function* shareLargeTree(path: string, options: ShareOptions): Generator<void, boolean> {
  if (!isLargeTree(path)) return false;
  yield* shareInSteps(path, options);
  return true;
}

function* shareInSteps(path: string, options: ShareOptions): Generator<void, void> {
  if (options.unlessRootFits && fits(statSync(path), options)) return;
  // The root comes last: it fits only when everything else was done.
  yield* walkInSteps(path, (entry, stats) => {
    if (stats.isSymbolicLink()) shareLink(entry, stats, options);
    else if (!fits(stats, options)) share(entry, options);
  });
}

function fits(stats: Stats, options: ShareOptions): boolean {
  return stats.gid === options.group && stats.mode === (stats.mode | wantedBits(stats, options));
}

function wantedBits(stats: Stats, { readOnly }: ShareOptions): number {
  return (readOnly ? READ : READ_WRITE) | (stats.isDirectory() ? ENTER : 0);
}

function shareLink(entry: Buffer, stats: Stats, { group }: ShareOptions): void {
  if (stats.gid === group) return;
  ignoring([...CANNOT, ...GONE], () => lchownSync(entry, KEEP, group));
}

/** Through a descriptor: chmod by name would follow a link created meanwhile. */
function share(entry: Buffer, options: ShareOptions): void {
  ignoring(GONE, () =>
    closing(openSync(entry, OPEN_PATH), (fd) => {
      const stats = fstatSync(fd);
      if (stats.isSymbolicLink()) return;
      const self = `/proc/self/fd/${fd}`;
      const mode = (stats.mode & 0o7777) | wantedBits(stats, options);
      ignoring(CANNOT, () => {
        chownSync(self, KEEP, options.group);
        // Also when the mode is right: changing the group clears the setuid bit.
        chmodSync(self, mode);
      });
    }),
  );
}
