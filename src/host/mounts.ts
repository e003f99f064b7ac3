// Performs: mounting and unmounting: what volumes in memory need.

import {
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { AgentError, messageOf } from "../lib/errors.ts";
import { ERRNO, MNT_DETACH, bindMount, makePrivate, mount, unmount } from "./libc.ts";
import { mountPointsUnder, parseMountPoints, parseMounts } from "./mount-info.ts";
import { openBeneath, type BeneathOptions } from "./tree/open-beneath.ts";

export interface TmpfsOptions {
  /** Absent = the kernel's default, half of the memory. */
  readonly sizeBytes?: number;
  /** Permissions of its root directory. */
  readonly mode: number;
  /** That its root directory belongs to; absent = root's. */
  readonly group?: number;
}

export interface HugetlbfsOptions {
  readonly pageBytes: number;
  readonly mode: number;
  readonly group?: number;
}

export interface BindBeneathOptions extends BeneathOptions {
  /** Its parent is there and only root may enter it; a file or directory is put there as is needed. */
  readonly target: string;
}

/** Paths may lead through symlinks, but a mount point itself is never one. */
export interface Mounts {
  /** Mounts a tmpfs on an existing directory; it is never swapped out where the kernel can do so. Throws AgentError `MountError`. */
  tmpfs(path: string, options: TmpfsOptions): void;
  /** Mounts huge pages on an existing directory. Throws AgentError `MountError`. */
  hugetlbfs(path: string, options: HugetlbfsOptions): void;
  /** Shows at `target` what is at `path` inside `root`, never anything outside of it. Throws AgentError `MountError`. */
  bindBeneath(options: BindBeneathOptions): void;
  /**
   * Ends the sharing of a mount and of those below it: without it, unmounting what is seen inside a bind mount unmounts
   * it on the host too. No mount there = fine.
   */
  makePrivate(path: string): void;
  /** Nothing mounted there = fine; a busy one is detached. Throws AgentError `MountError`. */
  unmount(path: string): void;
  /** Mount points strictly below `path`, deepest first. */
  mountsUnder(path: string): readonly string[];
  /** What is mounted strictly below `path`, as paths inside of their filesystems. */
  boundUnder(path: string): readonly string[];
  isMountPoint(path: string): boolean;
}

/** The kernel's mounts in this process's mount namespace; needs CAP_SYS_ADMIN. */
export function realMounts(): Mounts {
  return {
    tmpfs(path, { sizeBytes, ...root }) {
      const size = sizeBytes === undefined ? "" : `,size=${Math.ceil(sizeBytes)}`;
      const options = `${rootOptions(root)}${size}`;
      let errno = mount("tmpfs", path, "tmpfs", `${options},noswap`);
      // Linux before 6.4 does not know the word.
      if (errno === ERRNO.EINVAL) errno = mount("tmpfs", path, "tmpfs", options);
      if (errno !== 0) throw mountError("mount a tmpfs on", path, errno);
    },
    hugetlbfs(path, { pageBytes, ...root }) {
      const options = `${rootOptions(root)},pagesize=${pageBytes}`;
      const errno = mount("hugetlbfs", path, "hugetlbfs", options);
      if (errno === ERRNO.EINVAL || errno === ERRNO.ENODEV) {
        const message = `cannot mount huge pages on ${path}: the kernel has no pages of ${pageBytes} bytes`;
        throw new AgentError({ reason: "MountError", message });
      }
      if (errno !== 0) throw mountError("mount huge pages on", path, errno);
    },
    bindBeneath,
    makePrivate(path) {
      const errno = makePrivate(path);
      if (errno === 0 || errno === ERRNO.EINVAL || errno === ERRNO.ENOENT) return;
      throw mountError("make a private mount of", path, errno);
    },
    unmount(path) {
      const errno = unmount(path, 0);
      if (errno === 0 || errno === ERRNO.EINVAL || errno === ERRNO.ENOENT) return;
      const again = errno === ERRNO.EBUSY ? unmount(path, MNT_DETACH) : errno;
      if (again !== 0) throw mountError("unmount", path, again);
    },
    mountsUnder: (path) => mountPointsUnder(mountPoints(), realPath(path)),
    boundUnder: (path) => boundUnder(`${realPath(path)}/`),
    isMountPoint: (path) => mountPoints().includes(realPath(path)),
  };
}

function rootOptions({ mode, group }: Pick<TmpfsOptions, "mode" | "group">): string {
  return `mode=${mode.toString(8)}${group === undefined ? "" : `,gid=${group}`}`;
}

function bindBeneath({ target, ...options }: BindBeneathOptions): void {
  try {
    const fd = openBeneath(options);
    try {
      makeTarget(target, fstatSync(fd).isDirectory());
      const errno = bindMount(`/proc/self/fd/${fd}`, target);
      if (errno !== 0) throw mountError("mount", target, errno);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    throw new AgentError({ reason: "MountError", message: messageOf(cause), cause });
  }
}

/** An empty one of the right kind. */
function makeTarget(target: string, isDirectory: boolean): void {
  const stats = lstatSync(target, { throwIfNoEntry: false });
  if (stats?.isDirectory() === isDirectory) return;
  if (stats?.isDirectory() === true) rmdirSync(target);
  else if (stats !== undefined) unlinkSync(target);
  if (isDirectory) mkdirSync(target, 0o750);
  else writeFileSync(target, "", { flag: "wx", mode: 0o640 });
}

function mountPoints(): readonly string[] {
  return parseMountPoints(mountTable());
}

function boundUnder(prefix: string): readonly string[] {
  const below = parseMounts(mountTable()).filter(({ point }) => point.startsWith(prefix));
  return below.map(({ root }) => root);
}

function mountTable(): string {
  return readFileSync("/proc/self/mountinfo", "utf8");
}

/** The kernel's table has no symlinks in it; the last part of a path is taken as it is. */
function realPath(path: string): string {
  try {
    return path === "/" ? path : join(realpathSync(dirname(path)), basename(path));
  } catch {
    // No such parent: then nothing is mounted there either.
    return path;
  }
}

function mountError(what: string, path: string, errno: number): AgentError {
  const why = errno === ERRNO.EPERM ? "not permitted (it needs root)" : `errno ${errno}`;
  return new AgentError({ reason: "MountError", message: `cannot ${what} ${path}: ${why}` });
}
