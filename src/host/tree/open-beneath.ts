// Performs: opens a path inside a directory that a hostile pod writes to, whatever links it puts there and whenever it
// changes them. Every name is opened below an open directory, never through a link; links are read and walked by the
// same rules.

import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
} from "node:fs";
import { OPEN_PATH, at, errorCode } from "./directory-fd.ts";

export interface BeneathOptions {
  /** Its own path may lead through links. */
  readonly root: string;
  /** Relative. */
  readonly path: string;
  /** Directories that are missing are made. */
  readonly create: boolean;
  /** Of what is made; absent = as open as the root is. */
  readonly mode?: number;
  /** No link is followed, wherever it leads. */
  readonly refuseLinks?: boolean;
}

/** As many as the kernel follows. */
const MAX_LINKS = 40;
/** Each level holds a descriptor. */
const MAX_DEPTH = 200;

/** An O_PATH descriptor of what is there; whoever asked closes it. Throws what a person may read. */
export function openBeneath(options: BeneathOptions): number {
  const walk = new Walk(options);
  try {
    return walk.run();
  } finally {
    walk.close();
  }
}

class Walk {
  readonly #path: string;
  readonly #create: boolean;
  readonly #refuseLinks: boolean;
  /** The way down to where it is: ".." is the one before, not what the file system says by now. */
  readonly #way: number[];
  readonly #mode: number;
  /** Names still to go, the next one last; bytes as characters. */
  readonly #names: string[];
  #links = 0;

  constructor({ root, path, create, mode, refuseLinks }: BeneathOptions) {
    this.#path = root === "/" ? `/${path}` : path;
    this.#create = create;
    this.#refuseLinks = refuseLinks ?? false;
    this.#names = namesOf(Buffer.from(path).toString("latin1"));
    if (path.startsWith("/")) throw this.#error("is not relative");
    // The root's own last name may be a link.
    const flags = (OPEN_PATH & ~constants.O_NOFOLLOW) | constants.O_DIRECTORY;
    const fd = openSync(root, flags);
    this.#way = [fd];
    this.#mode = mode ?? fstatSync(fd).mode & 0o2777;
  }

  close(): void {
    for (const fd of this.#way.splice(0)) closeSync(fd);
  }

  run(): number {
    for (;;) {
      const name = this.#names.pop();
      if (name === undefined) return this.#take();
      const found = this.#step(name);
      if (found !== undefined) return found;
    }
  }

  /** A descriptor when the way ends here in something that is no directory. */
  #step(name: string): number | undefined {
    if (name === "..") {
      this.#up();
      return undefined;
    }
    const fd = this.#open(Buffer.from(name, "latin1"));
    try {
      const stats = fstatSync(fd);
      if (stats.isSymbolicLink()) this.#follow(name);
      else if (stats.isDirectory()) this.#down(fd);
      else if (this.#names.length > 0) throw this.#error("leads through what is no directory");
      else return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    if (this.#here() !== fd) closeSync(fd);
    return undefined;
  }

  #here(): number {
    return this.#way.at(-1) ?? -1;
  }

  #take(): number {
    return this.#way.pop() ?? -1;
  }

  #down(fd: number): void {
    if (this.#way.length > MAX_DEPTH) throw this.#error(`is deeper than ${MAX_DEPTH} directories`);
    this.#way.push(fd);
  }

  #up(): void {
    if (this.#way.length === 1) throw this.#error("leads out of the volume");
    closeSync(this.#take());
  }

  #follow(name: string): void {
    if (this.#refuseLinks) throw this.#error("leads through a symbolic link");
    this.#links += 1;
    if (this.#links > MAX_LINKS) throw this.#error("leads through too many symbolic links");
    const link = at(this.#here(), Buffer.from(name, "latin1"));
    const target = readlinkSync(link, { encoding: "buffer" }).toString("latin1");
    if (target.startsWith("/")) throw this.#error("leads out of the volume");
    this.#names.push(...namesOf(target));
  }

  #open(name: Buffer): number {
    const path = at(this.#here(), name);
    try {
      return openSync(path, OPEN_PATH);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
    }
    if (!this.#create) throw this.#error("is not there");
    return this.#make(path);
  }

  #make(path: Buffer): number {
    try {
      mkdirSync(path, this.#mode);
    } catch (error) {
      // Somebody else was quicker: whatever it is, it is judged like all the rest.
      if (errorCode(error) !== "EEXIST") throw error;
      return openSync(path, OPEN_PATH);
    }
    const fd = openSync(path, OPEN_PATH);
    // The umask has been at it; through the descriptor, for by name it could be a link by now.
    const stats = fstatSync(fd);
    if (stats.isDirectory() && (stats.mode & 0o7777) !== this.#mode)
      chmodSync(`/proc/self/fd/${fd}`, this.#mode);
    return fd;
  }

  #error(what: string): Error {
    return new Error(`${JSON.stringify(this.#path)} ${what}`);
  }
}

function namesOf(path: string): string[] {
  return path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .toReversed();
}
