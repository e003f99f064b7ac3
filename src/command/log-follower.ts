// Performs: follows the log of a container over rotations and restarts; each read returns the complete new lines.

import type { Files } from "../host/files.ts";
import { rotatedLogs } from "./log-files.ts";
import type { NewLines } from "./log-lease.ts";

export interface LogFollowerOptions {
  readonly files: Pick<Files, "info" | "list" | "readFrom">;
  /** Path of the newest instance's log; undefined = there is no instance. */
  readonly path: () => string | undefined;
}

/** Most bytes of one read; older ones beyond that are skipped. */
const MAX_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** A file that is read, and how far. */
interface Place {
  readonly path: string;
  readonly identity: string;
  readonly offset: number;
}

export class LogFollower {
  readonly #options: LogFollowerOptions;
  #path: string | undefined;
  /** undefined = nothing was read of `#path` yet. */
  #at: Place | undefined;

  /** Starts at the present end of the log. */
  constructor(options: LogFollowerOptions) {
    this.#options = options;
    this.#path = options.path();
    const info = this.#path === undefined ? undefined : options.files.info(this.#path);
    if (this.#path === undefined || info === undefined) return;
    this.#at = { path: this.#path, identity: info.identity, offset: info.size };
  }

  /** Throws AgentError. */
  read(): NewLines | undefined {
    const newest = this.#options.path();
    if (this.#path === undefined && newest === undefined) return undefined;
    const isOver = newest !== this.#path;
    const rest = this.#path === undefined ? NOTHING : this.#rest(this.#path, isOver);
    if (!isOver || rest.lines.length > 0) return rest;
    this.#path = newest;
    this.#at = undefined;
    return newest === undefined ? NOTHING : this.#rest(newest, false);
  }

  /**
   * A file that was rotated is read once more after the runtime has turned to the next one, because it still writes for a
   * moment what it had in hand, unless the instance `isOver`. Then the next file begins: the one that was rotated after it,
   * or the present one.
   */
  #rest(path: string, isOver: boolean): NewLines {
    const present = this.#options.files.info(path);
    const at = this.#at;
    if (present !== undefined && at?.identity === present.identity)
      return this.#readOn({ ...at, path }, present.size);
    const rotated = rotatedLogs(this.#options.files, path);
    const all = [...rotated, ...(present === undefined ? [] : [{ ...present, path }])];
    const index = all.findIndex(({ identity }) => identity === at?.identity);
    const own = all[index];
    // Compressed, removed or cut since: what was not read of it is lost.
    const dropped = at !== undefined && own === undefined && rotated.length > 0 ? 1 : 0;
    if (at !== undefined && own !== undefined) {
      const last = this.#readOn({ ...at, path: own.path }, own.size);
      if (last.lines.length > 0 || (at.path === path && !isOver)) return last;
    }
    const next = all[index + 1];
    if (next === undefined) return NOTHING;
    const { identity } = next;
    return { ...this.#readOn({ path: next.path, identity, offset: 0 }, next.size), dropped };
  }

  #readOn(from: Place, size: number): NewLines {
    const { files } = this.#options;
    let offset = size < from.offset ? 0 : from.offset;
    this.#at = { ...from, offset };
    if (size === offset) return NOTHING;
    const skipped = size - offset > MAX_BYTES;
    if (skipped) offset = size - MAX_BYTES;
    const bytes = files.readFrom(from.path, offset, MAX_BYTES);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    // An incomplete line waits for its end, unless it fills the whole read.
    const taken = end === 0 && bytes.length < MAX_BYTES ? 0 : end === 0 ? bytes.length : end;
    this.#at = { ...from, offset: offset + taken };
    const lines = new TextDecoder().decode(bytes.subarray(0, taken)).split("\n");
    lines.pop();
    // The first line is incomplete.
    if (skipped) lines.shift();
    return { lines, dropped: skipped ? 1 : 0 };
  }
}

const NOTHING: NewLines = { lines: [], dropped: 0 };
