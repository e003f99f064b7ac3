// Performs: returns memory to the system: free heap pages, and file pages that only the start needed.

import { readFileSync } from "node:fs";
import { adviseDontNeed, advisePageOut } from "./libc.ts";

interface Mapping {
  readonly start: bigint;
  readonly end: bigint;
}

/** Collects garbage, then drops pages that can be read again from their files. Takes tens of milliseconds. */
export function trimMemory(): void {
  Bun.gc(true);
  Bun.shrink();
  const smaps = readFileSync("/proc/self/smaps", "utf8");
  for (const { start, end } of untouchedFileMappings(smaps)) adviseDontNeed(start, end - start);
  for (const { start, end } of writableFileMappings(smaps)) advisePageOut(start, end - start);
}

/**
 * Read-only file mappings without modified pages: dropping them loses nothing. Relocated mappings are excluded: their
 * pages were modified, even if they are read-only now.
 */
export function untouchedFileMappings(smaps: string): readonly Mapping[] {
  return smaps.split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/).flatMap((block) => {
    const head = /^([0-9a-f]+)-([0-9a-f]+) r-[-x]p \S+ \S+ \d+ +(\/.*)$/m.exec(block);
    return /^Anonymous: +0 kB$/m.test(block) ? mappingOf(head) : [];
  });
}

/** Mappings whose modified pages this process still needs: the kernel itself must choose those that can go. */
export function writableFileMappings(smaps: string): readonly Mapping[] {
  return smaps.split("\n").flatMap((line) => {
    const head = /^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ \d+ +\/.*$/.exec(line);
    return mappingOf(head);
  });
}

/** `head`: the match of a first line, with start and end; none without a match. */
function mappingOf(head: RegExpExecArray | null): readonly Mapping[] {
  return head === null ? [] : [{ start: BigInt(`0x${head[1]}`), end: BigInt(`0x${head[2]}`) }];
}
