// Performs: gives memory back to the system: free heap pages, and pages of files that only the start needed.

import { readFileSync } from "node:fs";
import { adviseDontNeed } from "./libc.ts";

interface Mapping {
  readonly start: bigint;
  readonly end: bigint;
}

/** Collects garbage, then lets go of what can be read again from the page cache. Takes tens of milliseconds. */
export function trimMemory(): void {
  Bun.gc(true);
  Bun.shrink();
  for (const { start, end } of untouchedFileMappings(readFileSync("/proc/self/smaps", "utf8")))
    adviseDontNeed(start, end - start);
}

/**
 * Mappings of files, not writable, of which this process has changed no page: dropping them loses nothing. A mapping
 * that was relocated is not among them, although it may be read-only by now.
 */
export function untouchedFileMappings(smaps: string): readonly Mapping[] {
  return smaps.split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/).flatMap((block) => {
    const head = /^([0-9a-f]+)-([0-9a-f]+) r-[-x]p \S+ \S+ \d+ +(\/.*)$/m.exec(block);
    if (head === null || !/^Anonymous: +0 kB$/m.test(block)) return [];
    return [{ start: BigInt(`0x${head[1]}`), end: BigInt(`0x${head[2]}`) }];
  });
}
