// Performs: calls of the C library that the platform does not offer. They block the event loop, so only quick local ones.

import { dlopen, ptr, read } from "bun:ffi";

const LIBC = dlopen("libc.so.6", {
  __errno_location: { args: [], returns: "ptr" },
  adjtimex: { args: ["ptr"], returns: "i32" },
  clock_gettime: { args: ["i32", "ptr"], returns: "i32" },
  clock_settime: { args: ["i32", "ptr"], returns: "i32" },
  flock: { args: ["i32", "i32"], returns: "i32" },
  inotify_add_watch: { args: ["i32", "ptr", "u32"], returns: "i32" },
  inotify_init1: { args: ["i32"], returns: "i32" },
  madvise: { args: ["u64", "u64", "i32"], returns: "i32" },
  mount: { args: ["ptr", "ptr", "ptr", "u64", "ptr"], returns: "i32" },
  umount2: { args: ["ptr", "i32"], returns: "i32" },
});

export const ERRNO = {
  EPERM: 1,
  ENOENT: 2,
  EAGAIN: 11,
  EBUSY: 16,
  ENODEV: 19,
  EINVAL: 22,
} as const;

/** 0, or the errno of the failure. */
type Errno = number;

const CLOCK_REALTIME = 0;
const CLOCK_BOOTTIME = 7;
const LOCK_EX = 2;
const LOCK_NB = 4;
const MS_BIND = 0x1000n;
const MS_REC = 0x4000n;
const MS_PRIVATE = 0x40000n;
const UMOUNT_NOFOLLOW = 8;
export const MNT_DETACH = 2;
const MADV_DONTNEED = 4;
const IN_NONBLOCK = 0o4000;
const IN_CLOEXEC = 0o2000000;

/** Milliseconds since boot, counting suspend; undefined where the kernel has no such clock. */
export function bootTimeMs(): number | undefined {
  const time = new BigInt64Array(2);
  if (LIBC.symbols.clock_gettime(CLOCK_BOOTTIME, ptr(time)) !== 0) return undefined;
  return Number(time[0] ?? 0n) * 1000 + Number(time[1] ?? 0n) / 1e6;
}

/** Steps the system clock. */
export function setRealTime(seconds: bigint, nanoseconds: bigint): Errno {
  const time = new BigInt64Array([seconds, nanoseconds]);
  return errnoOf(LIBC.symbols.clock_settime(CLOCK_REALTIME, ptr(time)));
}

/** adjtimex: the clock's state (5 = TIME_ERROR, -1 = failed) and its STA_ bits. */
export function clockState(): { readonly state: number; readonly status: number } {
  const timex = new Uint8Array(256);
  const state = LIBC.symbols.adjtimex(ptr(timex));
  return { state, status: new DataView(timex.buffer).getInt32(40, true) };
}

/** Takes the exclusive lock of an open file without waiting. */
export function lockExclusive(fd: number): Errno {
  return errnoOf(LIBC.symbols.flock(fd, LOCK_EX | LOCK_NB));
}

/** A new non-blocking inotify instance that no child inherits; undefined if none is left. */
export function openInotify(): number | undefined {
  const fd = LIBC.symbols.inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  return fd < 0 ? undefined : fd;
}

/** Watches a path; false if it cannot be watched. */
export function addInotifyWatch(fd: number, path: string, mask: number): boolean {
  return LIBC.symbols.inotify_add_watch(fd, ptr(cString(path)), mask) >= 0;
}

/** Drops the pages of this range; the next access reads them from their file again. */
export function adviseDontNeed(start: bigint, length: bigint): void {
  LIBC.symbols.madvise(start, length, MADV_DONTNEED);
}

/** mount(2) without flags. */
export function mount(source: string, target: string, type: string, options: string): Errno {
  const [s, t, k, o] = [cString(source), cString(target), cString(type), cString(options)];
  return errnoOf(LIBC.symbols.mount(ptr(s), ptr(t), ptr(k), 0n, ptr(o)));
}

/** Bind mount of `source` at `target`, without the mounts below `source`. */
export function bindMount(source: string, target: string): Errno {
  return mountWith(MS_BIND, source, target);
}

/** Stops the propagation of mounts and unmounts at and below `target`, in both directions. */
export function makePrivate(target: string): Errno {
  return mountWith(MS_REC | MS_PRIVATE, "none", target);
}

function mountWith(flags: bigint, source: string, target: string): Errno {
  const [s, t, none] = [cString(source), cString(target), cString("")];
  return errnoOf(LIBC.symbols.mount(ptr(s), ptr(t), ptr(none), flags, ptr(none)));
}

/** umount2(2) that never follows a symlink; `flags` = 0 or MNT_DETACH. */
export function unmount(target: string, flags: number): Errno {
  return errnoOf(LIBC.symbols.umount2(ptr(cString(target)), UMOUNT_NOFOLLOW | flags));
}

function errnoOf(result: number): Errno {
  if (result === 0) return 0;
  const location = LIBC.symbols.__errno_location();
  return location === null ? ERRNO.EINVAL : read.i32(location, 0);
}

function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}
