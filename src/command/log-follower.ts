// Performs: follows the log of a container over rotations and restarts; each read returns the complete new lines.

import type { Files } from "../host/files.ts";
import type { NewLines } from "./log-lease.ts";

export interface LogFollowerOptions {
  readonly files: Pick<Files, "info" | "readFrom">;
  /** Path of the newest instance's log; undefined = there is no instance. */
  readonly path: () => string | undefined;
}

/** Most bytes of one read; older ones beyond that are skipped. */
const MAX_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

export class LogFollower {
  readonly #options: LogFollowerOptions;
  #path: string | undefined;
  #identity = "";
  #offset = 0;

  /** Starts at the present end of the log. */
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
    // An incomplete line waits for its end, unless it fills the whole read.
    const taken = end === 0 && bytes.length < MAX_BYTES ? 0 : end === 0 ? bytes.length : end;
    this.#offset += taken;
    const lines = new TextDecoder().decode(bytes.subarray(0, taken)).split("\n");
    lines.pop();
    // The first line is incomplete.
    if (skipped) lines.shift();
    return { lines, dropped: skipped ? 1 : 0 };
  }
}

const NOTHING: NewLines = { lines: [], dropped: 0 };
