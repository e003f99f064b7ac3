// The log files that a runtime holds open: like containerd, it writes on to a file that was renamed or removed until it is
// asked to reopen it.

import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

interface OpenLog {
  readonly path: string;
  fd: number;
}

export class FakeLogs implements Disposable {
  /** By container id. */
  readonly #open = new Map<string, OpenLog>();

  /** The runtime makes no directories. */
  open(id: string, path: string): void {
    this.close(id);
    this.#open.set(id, { path, fd: openSync(path, "a", 0o640) });
  }

  /**
   * What it returns writes what the runtime had in hand to the old file, and must be called once; false = no one can read it
   * there any more.
   */
  reopenLate(id: string): (text: string) => boolean {
    const before = this.#open.get(id)?.fd;
    const old = before === undefined ? undefined : openSync(`/proc/self/fd/${before}`, "a");
    try {
      this.reopen(id);
    } catch (error) {
      if (old !== undefined) closeSync(old);
      throw error;
    }
    return (text) => {
      if (old === undefined) return true;
      writeSync(old, text);
      const { nlink } = fstatSync(old);
      closeSync(old);
      return nlink > 0;
    };
  }

  reopen(id: string): void {
    const log = this.#open.get(id);
    if (log === undefined || !existsSync(dirname(log.path))) throw new Error(`no log of ${id}`);
    const fd = openSync(log.path, "a", 0o640);
    closeSync(log.fd);
    log.fd = fd;
  }

  write(id: string, text: string): void {
    const log = this.#open.get(id);
    if (log !== undefined) writeSync(log.fd, text);
  }

  /** Bytes that take no space. */
  grow(id: string, bytes: number): void {
    const log = this.#open.get(id);
    if (log !== undefined) ftruncateSync(log.fd, fstatSync(log.fd).size + bytes);
  }

  close(id: string): void {
    const log = this.#open.get(id);
    if (log !== undefined) closeSync(log.fd);
    this.#open.delete(id);
  }

  get ids(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** Whether it writes to the file that has the log's name. */
  isAtItsPath(id: string): boolean {
    const log = this.#open.get(id);
    if (log === undefined) return true;
    const there = statSync(log.path, { throwIfNoEntry: false });
    return there?.ino === fstatSync(log.fd).ino;
  }

  /** Whether what it writes is in no file that can be opened. */
  isLost(id: string): boolean {
    const log = this.#open.get(id);
    return log !== undefined && fstatSync(log.fd).nlink === 0;
  }

  [Symbol.dispose](): void {
    for (const id of this.ids) this.close(id);
  }
}
