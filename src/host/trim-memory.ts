// Performs: returns memory to the system: free heap pages, and file pages that only the start needed.

import { readFileSync } from "node:fs";
import { adviseDontNeed } from "./libc.ts";

interface Mapping {
  readonly start: bigint;
  readonly end: bigint;
}

/** Collects garbage, then drops pages that can be read again from their files. Takes tens of milliseconds. */
export function trimMemory(): void {
  Bun.gc(true);
  Bun.shrink();
  for (const { start, end } of untouchedFileMappings(readFileSync("/proc/self/smaps", "utf8")))
    adviseDontNeed(start, end - start);
}

/**
 * Read-only file mappings without modified pages: dropping them loses nothing. Relocated mappings are excluded: their
 * pages were modified, even if they are read-only now.
 */
export function untouchedFileMappings(smaps: string): readonly Mapping[] {
  return smaps.split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/).flatMap((block) => {
    const head = /^([0-9a-f]+)-([0-9a-f]+) r-[-x]p \S+ \S+ \d+ +(\/.*)$/m.exec(block);
    if (head === null || !/^Anonymous: +0 kB$/m.test(block)) return [];
    return [{ start: BigInt(`0x${head[1]}`), end: BigInt(`0x${head[2]}`) }];
  });
}
