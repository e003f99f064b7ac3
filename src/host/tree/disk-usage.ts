// Performs: what a directory takes on its disk. kubelet: fs.DiskUsage

import { walkTree } from "./walk-tree.ts";

/** stat's unit of `blocks`, whatever the file system's is. */
const BLOCK_BYTES = 512;

/** Bytes of everything in it and itself, on its own mount only; a file with several names counts once. */
export function diskUsage(path: string): number {
  const seen = new Set<string>();
  let blocks = 0;
  walkTree(path, (_, stats) => {
    if (stats.nlink > 1 && !stats.isDirectory()) {
      const identity = `${stats.dev}:${stats.ino}`;
      if (seen.has(identity)) return;
      seen.add(identity);
    }
    blocks += stats.blocks;
  });
  return blocks * BLOCK_BYTES;
}
