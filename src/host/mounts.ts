// Performs: mounts and unmounts, and reads the kernel's mount table.

import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { AgentError } from "../lib/errors.ts";
import {
  bindBeneath,
  holdPath,
  mountError,
  type BindBeneathOptions,
  type HeldPath,
} from "./bind-mount.ts";
import { hangableMounts, mountsBelow, type MountTypes, readMounts } from "./mount-table.ts";
import { ERRNO, MNT_DETACH, PRIVATE_BELOW, mount, unmount } from "./libc.ts";

/** Of the root directory of a new file system. */
interface RootDirectoryOptions {
  readonly mode: number;
  /** Absent = root's group. */
  readonly group?: number;
}

export interface TmpfsOptions extends RootDirectoryOptions {
  /** Absent = the kernel's default, half of the memory. */
  readonly sizeBytes?: number;
}

interface HugetlbfsOptions extends RootDirectoryOptions {
  readonly pageBytes: number;
}

/** Paths may lead through symlinks, but a mount point itself is never one. */
export interface Mounts {
  /** Mounts a tmpfs on an existing directory, without swap if the kernel supports that. Throws AgentError `MountError`. */
  tmpfs(path: string, options: TmpfsOptions): void;
  /** Mounts a hugetlbfs on an existing directory. Throws AgentError `MountError`. */
  hugetlbfs(path: string, options: HugetlbfsOptions): void;
  /** Bind mounts `path` inside `root` at `target`, never anything outside of `root`. Throws AgentError `MountError`. */
  bindBeneath(options: BindBeneathOptions): void;
  /** Follows the links of an absolute path and holds what is there until disposed. Throws AgentError `MountError`. */
  hold(path: string): HeldPath;
  /**
   * Makes a mount and those below it private: otherwise an unmount inside a bind mount propagates to the host. A path
   * that is no mount is ignored.
   */
  makePrivate(path: string): void;
  /** A path that is no mount is ignored; a busy mount is detached. Throws AgentError `MountError`. */
  unmount(path: string): void;
  /** Mount points strictly below `path`, deepest first. */
  mountsUnder(path: string): readonly string[];
  /** The sources of the mounts strictly below `path`, as paths inside their file systems. */
  boundUnder(path: string): readonly string[];
  isMountPoint(path: string): boolean;
}

/**
 * The kernel's mounts in this process's mount namespace; needs CAP_SYS_ADMIN. `avoided`: mounts that no path may lead into,
 * because their file systems may hang; only a helper process, which is ended then, avoids none.
 */
export function realMounts(avoided: () => MountTypes = hangableMounts): Mounts {
  return {
    tmpfs(path, { sizeBytes, ...root }) {
      const size = sizeBytes === undefined ? "" : `,size=${Math.ceil(sizeBytes)}`;
      const options = `${rootOptions(root)}${size}`;
      const type = "tmpfs";
      let errno = mount(type, path, { type, options: `${options},noswap` });
      // Linux before 6.4 does not know `noswap`.
      if (errno === ERRNO.EINVAL) errno = mount(type, path, { type, options });
      if (errno !== 0) throw mountError("mount a tmpfs on", path, errno);
    },
    hugetlbfs(path, { pageBytes, ...root }) {
      const options = `${rootOptions(root)},pagesize=${pageBytes}`;
      const errno = mount("hugetlbfs", path, { type: "hugetlbfs", options });
      if (errno === ERRNO.EINVAL || errno === ERRNO.ENODEV) {
        const message = `cannot mount huge pages on ${path}: the kernel has no pages of ${pageBytes} bytes`;
        throw new AgentError({ reason: "MountError", message });
      }
      if (errno !== 0) throw mountError("mount huge pages on", path, errno);
    },
    bindBeneath: (options) => bindBeneath({ ...options, avoid: avoided() }),
    hold: (path) => holdPath(path, avoided()),
    makePrivate(path) {
      // Mounts that are not shared are left alone: looking up their root may hang.
      const real = realPath(path);
      const isIn = (point: string): boolean => point === real || point.startsWith(`${real}/`);
      if (!readMounts().some(({ point, isShared }) => isShared && isIn(point))) return;
      const errno = mount("none", path, { flags: PRIVATE_BELOW });
      unlessNoMount("make a private mount of", path, errno);
    },
    unmount(path) {
      // Only detaching never waits for a file system that hangs.
      const isHangable = hangableMounts().has(realPath(path));
      const errno = unmount(path, isHangable ? MNT_DETACH : 0);
      const isBusy = errno === ERRNO.EBUSY;
      unlessNoMount("unmount", path, isBusy ? unmount(path, MNT_DETACH) : errno);
    },
    mountsUnder: (path) => mountsBelow(readMounts(), realPath(path)).map(({ point }) => point),
    boundUnder: (path) => mountsBelow(readMounts(), realPath(path)).map(({ root }) => root),
    isMountPoint(path) {
      const real = realPath(path);
      return readMounts().some(({ point }) => point === real);
    },
  };
}

function rootOptions({ mode, group }: RootDirectoryOptions): string {
  return `mode=${mode.toString(8)}${group === undefined ? "" : `,gid=${group}`}`;
}

/** The mount table has no symlinks; the last part of the path is not resolved. */
function realPath(path: string): string {
  try {
    return path === "/" ? path : join(realpathSync(dirname(path)), basename(path));
  } catch {
    // Without a parent directory nothing is mounted there.
    return path;
  }
}

/** Throws for a failure, except that nothing is mounted there. */
function unlessNoMount(what: string, path: string, errno: number): void {
  if (errno !== 0 && errno !== ERRNO.EINVAL && errno !== ERRNO.ENOENT)
    throw mountError(what, path, errno);
}
