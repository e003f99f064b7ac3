// Performs: bind mounts of paths that processes may change meanwhile: each is walked by descriptors and held from the look
// at it until it is mounted.

import {
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { AgentError, withReason } from "../lib/errors.ts";
import type { FileInfo } from "./files.ts";
import { BIND, BIND_BELOW, ERRNO, SLAVE_BELOW, mount } from "./libc.ts";
import type { MountTypes } from "./mount-table.ts";
import { fileInfo } from "./real-files.ts";
import { closing } from "./tree/directory-fd.ts";
import {
  type BeneathOptions,
  createFileIn,
  openBeneath,
  pathOf,
  reach,
  textOf,
} from "./tree/open-beneath.ts";

export interface BindBeneathOptions extends BeneathOptions {
  /** Its parent exists and only root may enter it; an empty file or directory is created as mount point. */
  readonly target: string;
}

/** What is at a path. */
export type EntryKind = FileInfo["kind"] | NonNullable<FileInfo["special"]>;

/**
 * A path of the host whose links were followed once: what a process makes of its names from then on changes nothing of
 * what is found, created and bound here. Each method throws AgentError `MountError`.
 */
export interface HeldPath extends Disposable {
  /** Where it is by now, without links; names that do not exist stand at its end. */
  readonly path: string;
  /** undefined = it does not exist. */
  readonly found: EntryKind | undefined;
  /** A link leads to what does not exist: it could lead anywhere once that is created. */
  readonly isBroken: boolean;
  /** Creates what is missing, following no link: a directory with its parents, or an empty file. Then it is held. */
  createDirectory(mode: number): void;
  createFile(mode: number): void;
  /**
   * Bind mounts it with all that is mounted below it. Mounts that the host adds there later appear too; `shared`: those
   * added below `target` appear on the host as well.
   */
  bindTo(target: string, options: { readonly shared: boolean }): void;
  /** Whether the same file or directory is bound to `target`. */
  isBoundTo(target: string): boolean;
}

export function bindBeneath({ target, ...options }: BindBeneathOptions): void {
  asMountError(() =>
    closing(openBeneath(options), (fd) => {
      makeTarget(target, fstatSync(fd).isDirectory());
      const errno = mount(`/proc/self/fd/${fd}`, target, { flags: BIND });
      if (errno !== 0) throw mountError("mount", target, errno);
    }),
  );
}

/** Follows the links of an absolute path, but into none of `avoid`. Throws AgentError `MountError`. */
export function holdPath(path: string, avoid: MountTypes): HeldPath {
  return asMountError(() => new Held(path, avoid));
}

class Held implements HeldPath {
  #fd: number;
  /** Bytes as characters. */
  #missing: readonly string[];
  readonly isBroken: boolean;
  readonly #avoid: MountTypes;

  constructor(path: string, avoid: MountTypes) {
    this.#avoid = avoid;
    const { fd, missing, isBroken } = reach(path, avoid);
    this.#fd = fd;
    this.#missing = missing;
    this.isBroken = isBroken;
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  get path(): string {
    return pathOf({ fd: this.#fd, missing: this.#missing });
  }

  get found(): EntryKind | undefined {
    if (this.#missing.length > 0) return undefined;
    const { kind, special } = fileInfo("", fstatSync(this.#fd));
    return special ?? kind;
  }

  createDirectory(mode: number): void {
    this.#take({ create: true, mode });
  }

  createFile(mode: number): void {
    asMountError(() => {
      const [name, ...more] = this.#missing;
      if (name === undefined) return;
      if (more.length > 0)
        throw new Error(
          `${JSON.stringify(this.path)}: its directory does not exist; create it first`,
        );
      createFileIn(this.#fd, Buffer.from(name, "latin1"), mode);
    });
    this.#take({ create: false });
  }

  bindTo(target: string, { shared }: { readonly shared: boolean }): void {
    asMountError(() => {
      const stats = fstatSync(this.#fd);
      if (this.#missing.length > 0 || stats.nlink === 0)
        throw new Error(`${JSON.stringify(this.path)} has been removed; the next try looks again`);
      makeTarget(target, stats.isDirectory());
      const errno = mount(`/proc/self/fd/${this.#fd}`, target, { flags: BIND_BELOW });
      if (errno !== 0) throw mountError("mount", target, errno);
      if (shared) return;
      const failed = mount("none", target, { flags: SLAVE_BELOW });
      if (failed !== 0) throw mountError("make a slave mount of", target, failed);
    });
  }

  isBoundTo(target: string): boolean {
    if (this.#avoid.has(target)) return false;
    const stats = lstatSync(target, { throwIfNoEntry: false });
    const own = fstatSync(this.#fd);
    return stats?.dev === own.dev && stats.ino === own.ino && this.#missing.length === 0;
  }

  /** Holds what is at the missing names by now. */
  #take(options: Pick<BeneathOptions, "create" | "mode">): void {
    asMountError(() => {
      const root = `/proc/self/fd/${this.#fd}`;
      const shownAs = this.path;
      const fd = openBeneath({
        ...options,
        root,
        path: textOf(this.#missing),
        shownAs,
        refuseLinks: true,
        avoid: this.#avoid,
      });
      closeSync(this.#fd);
      this.#fd = fd;
      this.#missing = [];
    });
  }
}

/** Creates an empty mount point of the right kind. */
function makeTarget(target: string, isDirectory: boolean): void {
  const stats = lstatSync(target, { throwIfNoEntry: false });
  if (stats?.isDirectory() === isDirectory) return;
  if (stats?.isDirectory() === true) rmdirSync(target);
  else if (stats !== undefined) unlinkSync(target);
  if (isDirectory) mkdirSync(target, 0o750);
  else writeFileSync(target, "", { flag: "wx", mode: 0o640 });
}

function asMountError<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw cause instanceof AgentError ? cause : withReason("MountError", cause);
  }
}

export function mountError(what: string, path: string, errno: number): AgentError {
  const why = errno === ERRNO.EPERM ? "not permitted (it needs root)" : `errno ${errno}`;
  return new AgentError({ reason: "MountError", message: `cannot ${what} ${path}: ${why}` });
}
