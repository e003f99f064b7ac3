// Performs: keeps a small file beside the database, whose space is given up when a full disk must not keep an eviction
// from being written down.

import type { Edges } from "../edges.ts";
import { messageOf } from "../lib/errors.ts";

export interface SpaceReserveOptions extends Pick<Edges, "files" | "log"> {
  readonly stateDir: string;
  /** It has a reserve of its own, which a full disk has used up. */
  readonly database: { keepReserve(): void };
}

/** More than a transaction of a few rows needs. */
const RESERVED_BYTES = 256 * 1024;

export class SpaceReserve {
  readonly #options: SpaceReserveOptions;
  readonly #path: string;

  constructor(options: SpaceReserveOptions) {
    this.#options = options;
    this.#path = `${options.stateDir.replace(/\/+$/, "")}/space-reserve`;
  }

  /** Makes the file unless it is there, and that of the database. Only while there is space; a failure is retried with the next call. */
  keep(): void {
    const { files, log, database } = this.#options;
    database.keepReserve();
    if (files.info(this.#path)?.size === RESERVED_BYTES) return;
    try {
      // Not zeros: file systems that compress, or keep holes, would reserve nothing for those.
      const bytes = Uint8Array.from(
        { length: RESERVED_BYTES },
        (_, at) => (at * 167 + at / 251) & 255,
      );
      files.writeLazily(this.#path, bytes, 0o600);
    } catch (error) {
      log.debug("cannot reserve space for evictions", { error: messageOf(error) });
    }
  }

  /** Whether there was space to give up. */
  release(): boolean {
    const { files } = this.#options;
    try {
      if (files.info(this.#path) === undefined) return false;
      files.remove(this.#path);
      return true;
    } catch {
      // The caller goes on without the row.
      return false;
    }
  }
}
