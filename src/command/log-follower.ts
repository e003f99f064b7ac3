// Performs: follows the log of a container over rotations and restarts: whole new lines each time it is asked.

import type { Files } from "../host/files.ts";
import type { NewLines } from "./log-lease.ts";

export interface LogFollowerOptions {
  readonly files: Pick<Files, "info" | "readFrom">;
  /** Of the newest instance; undefined = there is none any more. */
  readonly path: () => string | undefined;
}

/** Bytes at once: what a container writes beyond is left out. */
const MAX_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

export class LogFollower {
  readonly #options: LogFollowerOptions;
  #path: string | undefined;
  #identity = "";
  #offset = 0;

  /** What is written from now on. */
  constructor(options: LogFollowerOptions) {
    this.#options = options;
    this.#path = options.path();
    const info = this.#path === undefined ? undefined : options.files.info(this.#path);
    this.#identity = info?.identity ?? "";
    this.#offset = info?.size ?? 0;
  }

  /** Throws AgentError. */
  read(): NewLines | undefined {
    const newest = this.#options.path();
    if (this.#path === undefined && newest === undefined) return undefined;
    const rest = this.#path === undefined ? NOTHING : this.#rest(this.#path);
    if (newest === this.#path) return rest;
    this.#path = newest;
    this.#identity = "";
    this.#offset = 0;
    return rest;
  }

  #rest(path: string): NewLines {
    const { files } = this.#options;
    const info = files.info(path);
    if (info === undefined) return NOTHING;
    if (info.identity !== this.#identity || info.size < this.#offset) {
      this.#identity = info.identity;
      this.#offset = 0;
    }
    if (info.size === this.#offset) return NOTHING;
    const skipped = info.size - this.#offset > MAX_BYTES;
    if (skipped) this.#offset = info.size - MAX_BYTES;
    const bytes = files.readFrom(path, this.#offset, MAX_BYTES);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    // A line that does not end waits until it does, unless nothing else would ever be seen.
    const taken = end === 0 && bytes.length < MAX_BYTES ? 0 : end === 0 ? bytes.length : end;
    this.#offset += taken;
    const lines = new TextDecoder().decode(bytes.subarray(0, taken)).split("\n");
    lines.pop();
    // It begins in the middle of one.
    if (skipped) lines.shift();
    return { lines, dropped: skipped ? 1 : 0 };
  }
}

const NOTHING: NewLines = { lines: [], dropped: 0 };
