// Mounting and unmounting: what volumes in memory need.

import { readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { AgentError } from "../lib/errors.ts";
import { ERRNO, MNT_DETACH, mount, unmount } from "./libc.ts";
import { mountPointsUnder, parseMountPoints } from "./mount-info.ts";

export interface TmpfsOptions {
  /** Absent = the kernel's default, half of the memory. */
  readonly sizeBytes?: number;
  /** Permissions of its root directory. */
  readonly mode: number;
}

/** Paths may lead through symlinks, but a mount point itself is never one. */
export interface Mounts {
  /** Mounts a tmpfs on an existing directory. Throws AgentError `MountError`. */
  tmpfs(path: string, options: TmpfsOptions): void;
  /** Nothing mounted there = fine; a busy one is detached. Throws AgentError `MountError`. */
  unmount(path: string): void;
  /** Mount points strictly below `path`, deepest first. */
  mountsUnder(path: string): readonly string[];
  isMountPoint(path: string): boolean;
}

/** The kernel's mounts in this process's mount namespace; needs CAP_SYS_ADMIN. */
export function realMounts(): Mounts {
  return {
    tmpfs(path, { sizeBytes, mode }) {
      const size = sizeBytes === undefined ? "" : `,size=${Math.ceil(sizeBytes)}`;
      const errno = mount("tmpfs", path, "tmpfs", `mode=${mode.toString(8)}${size}`);
      if (errno !== 0) throw mountError("mount a tmpfs on", path, errno);
    },
    unmount(path) {
      const errno = unmount(path, 0);
      if (errno === 0 || errno === ERRNO.EINVAL || errno === ERRNO.ENOENT) return;
      const again = errno === ERRNO.EBUSY ? unmount(path, MNT_DETACH) : errno;
      if (again !== 0) throw mountError("unmount", path, again);
    },
    mountsUnder: (path) => mountPointsUnder(mountPoints(), realPath(path)),
    isMountPoint: (path) => mountPoints().includes(realPath(path)),
  };
}

function mountPoints(): readonly string[] {
  return parseMountPoints(readFileSync("/proc/self/mountinfo", "utf8"));
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
