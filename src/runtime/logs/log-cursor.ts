// Performs: reads the log of one container instance from a place on, over rotations; each read returns whole lines.

import type { Files } from "../../host/files.ts";
import { rotatedLogs } from "./log-files.ts";

export type LogCursorFiles = Pick<Files, "info" | "list" | "readFrom">;

/** Whole lines, each with its line feed. */
export interface LogPart {
  readonly bytes: Uint8Array;
  /** Something was left out before it: 1 = it is unknown how many lines. */
  readonly dropped: 0 | 1;
}

/** A file that is read, and how far. */
export interface LogPlace {
  readonly path: string;
  /** Stays the same when the file is rotated to another name. */
  readonly identity: string;
  readonly offset: number;
}

export interface LogCursorOptions {
  readonly files: LogCursorFiles;
  /** Path of the log that is written to, whether it is there yet or not. */
  readonly path: string;
  /** undefined = the beginning of the oldest file that comes. */
  readonly at: LogPlace | undefined;
  /** Most bytes of one read. */
  readonly maxBytes: number;
  /** Skips what is older than the newest `maxBytes`, instead of returning it in several reads. */
  readonly isSkipping: boolean;
}

const NEWLINE = 0x0a;

export class LogCursor {
  readonly #options: LogCursorOptions;
  /** undefined = nothing was read yet. */
  #at: LogPlace | undefined;

  constructor(options: LogCursorOptions) {
    this.#options = options;
    this.#at = options.at;
  }

  /**
   * A file that was rotated is read once more after the runtime has turned to the next one, because it still writes for a
   * moment what it had in hand, unless the instance `isOver`. Then the next file begins: the one that was rotated after it,
   * or the present one. Throws AgentError.
   */
  read(isOver: boolean): LogPart {
    const { files, path } = this.#options;
    const present = files.info(path);
    const at = this.#at;
    if (present !== undefined && at?.identity === present.identity)
      return this.#readOn({ ...at, path }, present.size);
    const rotated = rotatedLogs(files, path);
    const all = [...rotated, ...(present === undefined ? [] : [{ ...present, path }])];
    const index = all.findIndex(({ identity }) => identity === at?.identity);
    const own = all[index];
    // Compressed, removed or cut since: what was not read of it is lost.
    const dropped = at !== undefined && own === undefined && rotated.length > 0 ? 1 : 0;
    if (at !== undefined && own !== undefined) {
      const last = this.#readOn({ ...at, path: own.path }, own.size);
      if (last.bytes.length > 0 || (at.path === path && !isOver)) return last;
    }
    const next = all[index + 1];
    if (next === undefined) return NOTHING;
    const { identity } = next;
    return { ...this.#readOn({ path: next.path, identity, offset: 0 }, next.size), dropped };
  }

  #readOn(from: LogPlace, size: number): LogPart {
    const { files, maxBytes, isSkipping } = this.#options;
    let offset = size < from.offset ? 0 : from.offset;
    this.#at = { ...from, offset };
    if (size === offset) return NOTHING;
    const skipped = isSkipping && size - offset > maxBytes;
    if (skipped) offset = size - maxBytes;
    const bytes = files.readFrom(from.path, offset, maxBytes);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    // An incomplete line waits for its end, unless it fills the whole read.
    const taken = end === 0 && bytes.length < maxBytes ? 0 : end === 0 ? bytes.length : end;
    this.#at = { ...from, offset: offset + taken };
    // After a gap the first line is incomplete.
    const start = skipped ? bytes.indexOf(NEWLINE) + 1 : 0;
    return { bytes: bytes.subarray(start, taken), dropped: skipped ? 1 : 0 };
  }
}

const NOTHING: LogPart = { bytes: new Uint8Array(), dropped: 0 };
