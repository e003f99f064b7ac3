// Performs: opens and creates paths inside a directory that a hostile pod writes to, whatever links it creates there and
// whenever it changes them. Every name is opened relative to an open directory, never through a link; the target of a
// link is walked by the same rules.

import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  fchmodSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { errorCode, ignoring } from "../../lib/errors.ts";
import { OPEN_PATH, at, closing } from "./directory-fd.ts";

export interface BeneathOptions {
  /** This path may lead through links. */
  readonly root: string;
  /** Relative. */
  readonly path: string;
  /** Creates missing directories. */
  readonly create: boolean;
  /** Of new directories; absent = that of the root. */
  readonly mode?: number;
  /** Refuses every link, wherever it leads. */
  readonly refuseLinks?: boolean;
}

/** The kernel's limit. */
const MAX_LINKS = 40;
/** Each level holds a descriptor. */
const MAX_DEPTH = 200;

/** Returns an O_PATH descriptor, which the caller closes. Throws an Error with a readable message. */
export function openBeneath(options: BeneathOptions): number {
  using walk = new Walk(options);
  return walk.run();
}

class Walk implements Disposable {
  readonly #path: string;
  readonly #create: boolean;
  readonly #refuseLinks: boolean;
  /** Descriptors from the root down: ".." is the one before, not the file system's present parent. */
  readonly #way: number[];
  readonly #mode: number;
  /** Names still to open, the next one last; bytes as characters. */
  readonly #names: string[];
  #links = 0;

  constructor({ root, path, create, mode, refuseLinks }: BeneathOptions) {
    this.#path = root === "/" ? `/${path}` : path;
    this.#create = create;
    this.#refuseLinks = refuseLinks ?? false;
    this.#names = namesOf(Buffer.from(path).toString("latin1"));
    if (path.startsWith("/")) throw this.#error("is not relative");
    // The last name of the root may be a link.
    const flags = (OPEN_PATH & ~constants.O_NOFOLLOW) | constants.O_DIRECTORY;
    const fd = openSync(root, flags);
    this.#way = [fd];
    this.#mode = mode ?? fstatSync(fd).mode & 0o2777;
  }

  [Symbol.dispose](): void {
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

  /** Returns a descriptor when the path ends here in an entry that is not a directory. */
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
      else if (this.#names.length > 0)
        throw this.#error("leads through an entry that is not a directory");
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
    const fd = ignoring(["ENOENT"], () => openSync(path, OPEN_PATH));
    if (fd !== undefined) return fd;
    if (!this.#create) throw this.#error("does not exist");
    return this.#make(path);
  }

  #make(path: Buffer): number {
    try {
      mkdirSync(path, this.#mode);
    } catch (error) {
      // Created by another process meanwhile: checked like any other entry.
      if (errorCode(error) !== "EEXIST") throw error;
      return openSync(path, OPEN_PATH);
    }
    const fd = openSync(path, OPEN_PATH);
    // Undoes the umask; through the descriptor, because the name may be a link by now.
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

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** Creates an empty file unless the path exists; refuses links on the way. kubelet: makeFile */
export function createFile(path: string, mode: number): void {
  closing(openPlace(dirname(path)), (parent) => {
    const place = at(parent, Buffer.from(basename(path)));
    const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    const created = ignoring(["EEXIST"], () => openSync(place, flags, mode));
    if (created === undefined) return;
    closing(created, (fd) => {
      // Undoes the umask.
      if ((fstatSync(fd).mode & 0o7777) !== mode) fchmodSync(fd, mode);
    });
  });
}

/** Creates a directory and its missing parents unless the path exists; refuses links. kubelet: makeDir */
export function createDirectory(path: string, mode: number): void {
  closeSync(openPlace(path, mode));
}

/** `mode`: creates missing directories with this mode. */
function openPlace(path: string, mode?: number): number {
  return openBeneath({
    root: "/",
    path: path.replace(/^\/+/, ""),
    create: mode !== undefined,
    refuseLinks: true,
    ...(mode === undefined ? {} : { mode }),
  });
}
