import { expect, test } from "bun:test";
import {
  trimMemory,
  untouchedFileMappings,
  writableFileMappings,
} from "../../../src/host/trim-memory.ts";

const block = (head: string, anonymous: number): string =>
  `${head}\nSize: 8 kB\nRss: 8 kB\nAnonymous:         ${anonymous} kB\nVmFlags: rd ex\n`;

const SMAPS = [
  block("00200000-00202000 r-xp 00001000 fe:00 42    /usr/local/bin/agent", 0),
  block("00300000-00302000 r--p 00001000 fe:00 42    /usr/local/bin/agent", 4),
  block("00400000-00402000 rw-p 00001000 fe:00 42    /usr/local/bin/agent", 0),
  block("00500000-00502000 r-xp 00000000 00:00 0 ", 0),
  block("00600000-00602000 r-xp 00000000 00:00 0     [vdso]", 0),
  block("00700000-00702000 r--p 00001000 fe:00 42    /usr/lib/libc.so.6", 0),
].join("");

test("drops unmodified file mappings only", () => {
  expect(untouchedFileMappings(SMAPS)).toEqual([
    { start: 0x200000n, end: 0x202000n },
    { start: 0x700000n, end: 0x702000n },
  ]);
});

test("leaves the choice of pages in writable file mappings to the kernel", () => {
  expect(writableFileMappings(SMAPS)).toEqual([{ start: 0x400000n, end: 0x402000n }]);
});

test("the process lives on after it", () => {
  trimMemory();
  expect(JSON.parse("[3,1,2]")).toEqual([3, 1, 2]);
});
