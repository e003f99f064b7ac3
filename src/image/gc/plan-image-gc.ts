// Decides which images garbage collection removes, and in which order. kubelet: imageGCManager

import type { ImageHold } from "./image-holds.ts";
import type { NodeImage } from "./image-keys.ts";

export interface ImageGCPolicy {
  /** Percent of the file system in use at which collection begins; 100 = never. */
  readonly highPercent: number;
  /** Percent down to which it removes. */
  readonly lowPercent: number;
  /** How long an image must have been unused. */
  readonly minAgeMs: number;
  /** Unused for longer, it goes however empty the disk is; 0 = never. */
  readonly maxAgeMs: number;
}

export interface DiskSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

export interface ImageCandidate {
  readonly image: NodeImage;
  /** Since nothing has used it, without times that are not known. */
  readonly idleMs: number;
  readonly hold: ImageHold | undefined;
}

export interface ImageGCPlan {
  /** In this order. */
  readonly remove: readonly NodeImage[];
  /** Their sizes; layers that images share count in each. */
  readonly bytes: number;
}

/** Percent in use, rounded up as `df` does; a file system without a size counts as empty. */
export function usedPercent({ capacityBytes, availableBytes }: DiskSpace): number {
  if (capacityBytes <= 0) return 0;
  return 100 - Math.floor((Math.max(0, availableBytes) * 100) / capacityBytes);
}

/** Bytes to free until the low mark; 0 = the high mark is not reached. */
export function bytesToFree(space: DiskSpace, policy: ImageGCPolicy): number {
  if (policy.highPercent >= 100 || usedPercent(space) < policy.highPercent) return 0;
  return bytesToLowMark(space, policy);
}

export function bytesToLowMark(
  { capacityBytes, availableBytes }: DiskSpace,
  { lowPercent }: Pick<ImageGCPolicy, "lowPercent">,
): number {
  return Math.max(0, Math.ceil((capacityBytes * (100 - lowPercent)) / 100) - availableBytes);
}

/**
 * First what is over the maximum age, then the least recently used until `toFree` bytes are reached. `Infinity`: everything
 * that is not held, whatever its age.
 */
export function planImageGC(
  candidates: readonly ImageCandidate[],
  toFree: number,
  { minAgeMs, maxAgeMs }: Pick<ImageGCPolicy, "minAgeMs" | "maxAgeMs">,
): ImageGCPlan {
  const isAll = toFree === Number.POSITIVE_INFINITY;
  const free = candidates.filter(({ hold }) => hold === undefined).toSorted(byUse);
  const remove: NodeImage[] = [];
  let bytes = 0;
  for (const { image, idleMs } of free) {
    const isOver = isOverAge(idleMs, maxAgeMs);
    const isDue = bytes < toFree && (isAll || idleMs >= minAgeMs);
    if (!isOver && !isDue) continue;
    remove.push(image);
    bytes += image.sizeBytes;
  }
  return { remove, bytes };
}

export function isOverAge(idleMs: number, maxAgeMs: number): boolean {
  return maxAgeMs > 0 && idleMs > maxAgeMs;
}

/** Least recently used first; of equals the larger one, which frees more. */
function byUse(a: ImageCandidate, b: ImageCandidate): number {
  return (
    b.idleMs - a.idleMs ||
    b.image.sizeBytes - a.image.sizeBytes ||
    (a.image.id < b.image.id ? -1 : 1)
  );
}
