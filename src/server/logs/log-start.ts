// Performs: finds where in the log of a container the last lines begin, without reading what precedes them.

import { rotatedLogs } from "../../runtime/logs/log-files.ts";
import type { LogCursorFiles, LogPlace } from "../../runtime/logs/log-cursor.ts";
import { endsLine } from "./log-text.ts";

const BLOCK = 64 * 1024;
/** Most bytes of one line that are joined to know where it begins. */
const MAX_LINE = 256 * 1024;
const NEWLINE = 0x0a;

/** Files of one log that can be read as they are, oldest first. */
function filesOf(
  files: LogCursorFiles,
  path: string,
): readonly (LogPlace & { readonly size: number })[] {
  const present = files.info(path);
  const all = [
    ...rotatedLogs(files, path),
    ...(present === undefined ? [] : [{ ...present, path }]),
  ];
  return all.map((one) => ({ path: one.path, identity: one.identity, offset: 0, size: one.size }));
}

/** undefined = there is no log. `lines` undefined = the beginning of the oldest file. */
export function logStart(
  files: LogCursorFiles,
  path: string,
  lines: number | undefined,
): LogPlace | undefined {
  const all = filesOf(files, path);
  const [oldest] = all;
  if (lines === undefined || oldest === undefined) return oldest;
  let left = lines;
  for (const { size, ...place } of all.toReversed()) {
    const found = startInFile(files, { ...place, size }, left);
    if (found.lines >= left) return { ...place, offset: found.offset };
    left -= found.lines;
  }
  return oldest;
}

/** Where the last `wanted` lines begin; `lines`: how many the file has from there on. */
function startInFile(
  files: LogCursorFiles,
  { path, size }: LogPlace & { readonly size: number },
  wanted: number,
): { readonly offset: number; readonly lines: number } {
  let lines = 0;
  // The beginning of the block that was read before: its first line begins further ahead.
  let rest = new Uint8Array();
  for (let end = size; end > 0;) {
    const from = Math.max(0, end - BLOCK);
    const block = joinedBytes(files.readFrom(path, from, end - from), rest);
    // The last line may not be whole yet.
    let upTo = end === size ? block.lastIndexOf(NEWLINE) + 1 : block.length;
    for (;;) {
      const start = startOfLine(block, upTo);
      // What precedes the block may belong to its first line.
      if (upTo === 0 || (start === 0 && from > 0)) break;
      if (endsLine(block.subarray(start, upTo - 1))) {
        // The end of the line before the first one that is wanted.
        if (lines === wanted) return { offset: from + upTo, lines };
        lines += 1;
      }
      upTo = start;
    }
    rest = upTo > MAX_LINE ? new Uint8Array() : block.slice(0, upTo);
    end = from;
  }
  return { offset: 0, lines };
}

function startOfLine(block: Uint8Array, upTo: number): number {
  return upTo < 2 ? 0 : block.lastIndexOf(NEWLINE, upTo - 2) + 1;
}

function joinedBytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  return b.length === 0 ? a : new Uint8Array(Buffer.concat([a, b]));
}
