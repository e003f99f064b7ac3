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
import type { HangableMount, MountTypes } from "../mount-table.ts";
import { OPEN_PATH, at, closing } from "./directory-fd.ts";

export interface BeneathOptions {
  /** This path may lead through links. */
  readonly root: string;
  /** Relative. */
  readonly path: string;
  /** In messages; absent = `path`. */
  readonly shownAs?: string;
  /** Creates missing directories. */
  readonly create: boolean;
  /** Of new directories; absent = that of the root. */
  readonly mode?: number;
  /** Refuses every link, wherever it leads. */
  readonly refuseLinks?: boolean;
  /** Mounts that are not entered; absent = none. */
  readonly avoid?: MountTypes;
}

/** A path leads into a mount that is avoided; nothing of it was touched. */
export class AvoidedMount extends Error {
  readonly mount: HangableMount;
  /** The whole path, without links as far as they are known. */
  readonly path: string;

  constructor(mount: HangableMount, path: string) {
    super(
      `${JSON.stringify(path)} is on ${mount.point} (${mount.type}), a file system that may hang; the next try asks it from a process of its own`,
    );
    this.mount = mount;
    this.path = path;
  }
}

/** Where a walk has ended. */
export interface Reached {
  /** O_PATH; of the entry, or of the last directory above what is missing. The caller closes it. */
  readonly fd: number;
  /** Names that do not exist, as bytes in characters; none = `fd` is the entry itself. */
  readonly missing: readonly string[];
  /** What is missing is named by a link on the way, not by the path itself, or `..` follows it: it could lead anywhere. */
  readonly isBroken: boolean;
}

/** The path of what is open, without links, and what is missing below it. */
export function pathOf({ fd, missing }: Pick<Reached, "fd" | "missing">): string {
  const held = readlinkSync(`/proc/self/fd/${fd}`);
  return missing.length === 0 ? held : `${held === "/" ? "" : held}/${textOf(missing)}`;
}

/** Names of bytes in characters, as one relative path. */
export function textOf(names: readonly string[]): string {
  return Buffer.from(names.join("/"), "latin1").toString();
}

/** The kernel's limit. */
const MAX_LINKS = 40;
/** Each level holds a descriptor. */
const MAX_DEPTH = 200;

/** Returns an O_PATH descriptor, which the caller closes. Throws an Error with a readable message. */
export function openBeneath(options: BeneathOptions): number {
  using walk = new Walk({ ...options, links: options.refuseLinks === true ? "Refuse" : "Inside" });
  return walk.run().fd;
}

/** Walks an absolute path of the host; its links may lead anywhere, as for any process. Throws as `openBeneath` does. */
export function reach(path: string, avoid: MountTypes): Reached {
  const relative = path.replace(/^\/+/, "");
  using walk = new Walk({ root: "/", path: relative, create: false, links: "Anywhere", avoid });
  return walk.run();
}

interface WalkOptions extends BeneathOptions {
  readonly links: "Inside" | "Anywhere" | "Refuse";
}

class Walk implements Disposable {
  readonly #path: string;
  readonly #create: boolean;
  readonly #follows: WalkOptions["links"];
  /** Descriptors from the root down: ".." is the one before, not the file system's present parent. */
  readonly #way: number[];
  readonly #mode: number;
  readonly #avoid: MountTypes;
  /** Names still to open, the next one last; bytes as characters. */
  readonly #names: string[];
  /** How many of them, at the bottom, are of the path itself; the others are of links. */
  #written: number;
  #links = 0;

  constructor({ root, path, create, mode, links, shownAs, avoid }: WalkOptions) {
    this.#path = shownAs ?? (root === "/" ? `/${path}` : path);
    this.#create = create;
    this.#follows = links;
    this.#avoid = avoid ?? new Map();
    this.#names = namesOf(Buffer.from(path).toString("latin1"));
    this.#written = this.#names.length;
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

  run(): Reached {
    for (;;) {
      const name = this.#names.pop();
      if (name === undefined) return this.#end([]);
      const isOfLink = this.#names.length >= this.#written;
      if (!isOfLink) this.#written = this.#names.length;
      const end = this.#step(name, isOfLink);
      if (end !== undefined) return end;
    }
  }

  /** Defined when the path ends here: in an entry that is not a directory, or in nothing. */
  #step(name: string, isOfLink: boolean): Reached | undefined {
    if (name === "..") {
      this.#up();
      return undefined;
    }
    const fd = this.#open(Buffer.from(name, "latin1"));
    if (fd === undefined) return this.#end([name, ...this.#names.splice(0).toReversed()], isOfLink);
    try {
      const stats = fstatSync(fd);
      if (stats.isSymbolicLink()) this.#follow(name);
      else if (stats.isDirectory()) this.#down(fd);
      else if (this.#names.length > 0)
        throw this.#error("leads through an entry that is not a directory");
      else return { fd, missing: [], isBroken: false };
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

  #end(missing: readonly string[], isOfLink = false): Reached {
    return { fd: this.#take(), missing, isBroken: isOfLink || missing.includes("..") };
  }

  #take(): number {
    return this.#way.pop() ?? -1;
  }

  #down(fd: number): void {
    if (this.#way.length > MAX_DEPTH) throw this.#error(`is deeper than ${MAX_DEPTH} directories`);
    this.#way.push(fd);
  }

  #up(): void {
    if (this.#way.length > 1) closeSync(this.#take());
    else if (this.#follows !== "Anywhere") throw this.#error("leads out of the volume");
  }

  #follow(name: string): void {
    if (this.#follows === "Refuse") throw this.#error("leads through a symbolic link");
    this.#links += 1;
    if (this.#links > MAX_LINKS) throw this.#error("leads through too many symbolic links");
    const link = at(this.#here(), Buffer.from(name, "latin1"));
    const target = readlinkSync(link, { encoding: "buffer" }).toString("latin1");
    if (target.startsWith("/")) {
      if (this.#follows !== "Anywhere") throw this.#error("leads out of the volume");
      for (const fd of this.#way.splice(1)) closeSync(fd);
    }
    this.#names.push(...namesOf(target));
  }

  /** undefined = it does not exist, which ends a walk that may lead anywhere. */
  #open(name: Buffer): number | undefined {
    const path = at(this.#here(), name);
    this.#mustNotAvoid(name);
    const fd = ignoring(["ENOENT"], () => openSync(path, OPEN_PATH));
    if (fd !== undefined || this.#follows === "Anywhere") return fd;
    if (!this.#create) throw Object.assign(this.#error("does not exist"), { code: "ENOENT" });
    return this.#make(path);
  }

  #mustNotAvoid(name: Buffer): void {
    if (this.#avoid.size === 0) return;
    // The kernel knows it without asking the file system.
    const here = readlinkSync(`/proc/self/fd/${this.#here()}`);
    const point = `${here === "/" ? "" : here}/${name.toString()}`;
    const type = this.#avoid.get(point);
    if (type === undefined) return;
    const rest = textOf(this.#names.toReversed());
    throw new AvoidedMount({ point, type }, rest === "" ? point : `${point}/${rest}`);
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
  closing(openPlace(dirname(path)), (parent) =>
    createFileIn(parent, Buffer.from(basename(path)), mode),
  );
}

/** Creates an empty file in an open directory, unless there is anything of this name. */
export function createFileIn(directory: number, name: Uint8Array, mode: number): void {
  const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const created = ignoring(["EEXIST"], () => openSync(at(directory, name), flags, mode));
  if (created === undefined) return;
  closing(created, (fd) => {
    // Undoes the umask.
    if ((fstatSync(fd).mode & 0o7777) !== mode) fchmodSync(fd, mode);
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
