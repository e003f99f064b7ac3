// Performs: follows the log of a container over rotations and restarts; each read returns the complete new lines.

import {
  LogCursor,
  type LogCursorFiles,
  type LogPart,
  type LogPlace,
} from "../runtime/logs/log-cursor.ts";
import type { NewLines } from "./log-lease.ts";

export interface LogFollowerOptions {
  readonly files: LogCursorFiles;
  /** Path of the newest instance's log; undefined = there is no instance. */
  readonly path: () => string | undefined;
}

/** Most bytes of one read; older ones beyond that are skipped. */
const MAX_BYTES = 1024 * 1024;

export class LogFollower {
  readonly #options: LogFollowerOptions;
  #path: string | undefined;
  #cursor: LogCursor | undefined;

  /** Starts at the present end of the log. */
  constructor(options: LogFollowerOptions) {
    this.#options = options;
    const path = options.path();
    const info = path === undefined ? undefined : options.files.info(path);
    if (path === undefined) return;
    this.#turnTo(path, info && { path, identity: info.identity, offset: info.size });
  }

  /** Throws AgentError. */
  read(): NewLines | undefined {
    const newest = this.#options.path();
    if (this.#path === undefined && newest === undefined) return undefined;
    const isOver = newest !== this.#path;
    const rest = this.#cursor?.read(isOver);
    if (rest !== undefined && (!isOver || rest.bytes.length > 0)) return linesOf(rest);
    this.#turnTo(newest, undefined);
    return linesOf(this.#cursor?.read(false) ?? { bytes: new Uint8Array(), dropped: 0 });
  }

  #turnTo(path: string | undefined, at: LogPlace | undefined): void {
    const { files } = this.#options;
    this.#path = path;
    this.#cursor =
      path === undefined
        ? undefined
        : new LogCursor({ files, path, at, maxBytes: MAX_BYTES, isSkipping: true });
  }
}

function linesOf({ bytes, dropped }: LogPart): NewLines {
  const lines = new TextDecoder().decode(bytes).split("\n");
  // A line that fills a whole read is left out.
  lines.pop();
  return { lines, dropped };
}
