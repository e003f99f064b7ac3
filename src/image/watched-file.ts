// Performs: the content of a small file, read again when it has changed. A faulty edit keeps what was good.

import type { Edges } from "../edges.ts";
import { messageOf } from "../lib/errors.ts";

export interface WatchedFileOptions<T> extends Pick<Edges, "files" | "log"> {
  readonly path: string;
  readonly maxBytes: number;
  /** While there is no such file. */
  readonly absent: T;
  /** It is an error if there is none. */
  readonly isRequired?: boolean;
  /** The content, or what is wrong with it: nothing that the file contains may be part of that. */
  readonly read: (text: Uint8Array) => T | { readonly wrong: string };
  /** What is not obeyed of it. */
  readonly warnings?: (value: T) => readonly string[];
}

export class WatchedFile<T extends object> {
  readonly #options: WatchedFileOptions<T>;
  #value: T;
  /** Of the file that was read last; undefined = none was there, "" = not looked yet. */
  #seen: string | undefined = "";

  constructor(options: WatchedFileOptions<T>) {
    this.#options = options;
    this.#value = options.absent;
  }

  /** Costs one system call while nothing has changed. Never throws. */
  current(): T {
    const { files, path, maxBytes, absent, isRequired, read } = this.#options;
    try {
      const info = files.target(path);
      const seen = info === undefined ? undefined : `${info.identity} ${info.mtimeMs} ${info.size}`;
      if (seen === this.#seen) return this.#value;
      this.#seen = seen;
      if (info === undefined) {
        this.#value = absent;
        if (isRequired === true) this.#report("there is no such file");
        return absent;
      }
      const value = read(files.readFollowing(path, maxBytes));
      if ("wrong" in value) this.#report(value.wrong);
      else this.#use(value);
    } catch (error) {
      this.#report(messageOf(error));
    }
    return this.#value;
  }

  #use(value: T): void {
    const { log, path, warnings } = this.#options;
    this.#value = value;
    for (const warning of warnings?.(value) ?? [])
      log.warn("a part of this file of credentials is not used", { path, warning });
  }

  #report(error: string): void {
    const { log, path } = this.#options;
    log.error("cannot use this file of credentials; correct it, it is read again by itself", {
      path,
      error,
    });
  }
}
