// Performs: reads how many bytes this thread has given to write calls. SQLite writes in the thread that calls it, so that the
// difference over a call is what that call wrote. proc(5): wchar

import { closeSync, openSync, readSync } from "node:fs";

/** Of the thread, not of the process: helpers of the platform write beside it. */
const PATH = "/proc/thread-self/io";

export class WrittenBytes implements Disposable {
  readonly #buffer = Buffer.alloc(512);
  #file: number | undefined;

  constructor() {
    try {
      this.#file = openSync(PATH, "r");
    } catch {
      // A kernel without accounting of I/O.
    }
  }

  /** undefined = the kernel does not count. */
  read(): number | undefined {
    if (this.#file === undefined) return undefined;
    try {
      const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
      const found = /^wchar: (\d+)$/m.exec(this.#buffer.toString("latin1", 0, length))?.[1];
      return found === undefined ? undefined : Number(found);
    } catch {
      return undefined;
    }
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}
