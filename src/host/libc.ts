// Performs: calls of the C library that the platform does not offer. They block the event loop, so only quick local ones.

import { dlopen, ptr, read } from "bun:ffi";
import type { Monotonic } from "../lib/clock.ts";

const LIBC = dlopen("libc.so.6", {
  __errno_location: { args: [], returns: "ptr" },
  adjtimex: { args: ["ptr"], returns: "i32" },
  clock_gettime: { args: ["i32", "ptr"], returns: "i32" },
  clock_settime: { args: ["i32", "ptr"], returns: "i32" },
  flock: { args: ["i32", "i32"], returns: "i32" },
  posix_fadvise: { args: ["i32", "i64", "i64", "i32"], returns: "i32" },
  syscall: { args: ["i64", "i64", "i64", "i64"], returns: "i64" },
  getdents64: { args: ["i32", "ptr", "u64"], returns: "i32" },
  inotify_add_watch: { args: ["i32", "ptr", "u32"], returns: "i32" },
  inotify_init1: { args: ["i32"], returns: "i32" },
  lseek: { args: ["i32", "i64", "i32"], returns: "i64" },
  madvise: { args: ["u64", "u64", "i32"], returns: "i32" },
  tcgetattr: { args: ["i32", "ptr"], returns: "i32" },
  tcsetattr: { args: ["i32", "i32", "ptr"], returns: "i32" },
  mount: { args: ["ptr", "ptr", "ptr", "u64", "ptr"], returns: "i32" },
  umount2: { args: ["ptr", "i32"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
  sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
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
const TIME_ERROR = 5;
const STA_UNSYNC = 0x40;
const LOCK_EX = 2;
const LOCK_NB = 4;
/** Without the mounts below the source. */
export const BIND = 0x1000n;
/** With the mounts below the source. */
export const BIND_BELOW = 0x5000n;
/** At and below the target: mounts of the host are followed, and none made there reaches the host. */
export const SLAVE_BELOW = 0x84000n;
/** At and below the target: mounts and unmounts no longer propagate, in either direction. */
export const PRIVATE_BELOW = 0x44000n;
const UMOUNT_NOFOLLOW = 8;
export const MNT_DETACH = 2;
const MADV_DONTNEED = 4;
const MADV_PAGEOUT = 21;
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const MSG_NOSIGNAL = 0x4000;
const SEEK_SET = 0;
const POSIX_FADV_DONTNEED = 4;
/** ioprio_set(2) has no function in the C library. */
const IOPRIO_SET: Readonly<Record<string, bigint>> = { x64: 251n, arm64: 30n };
const IOPRIO_WHO_PROCESS = 1n;
/** The idle class, in the upper bits. */
const IOPRIO_IDLE = 3n << 13n;
const TCSANOW = 0;
const OPOST = 1;
/** 32-bit words of `struct termios` on Linux; the second is `c_oflag`. */
const TERMIOS_WORDS = 15;
const IN_NONBLOCK = 0o4000;
const IN_CLOEXEC = 0o2000000;

/** Milliseconds of CLOCK_BOOTTIME, which counts suspend; for `systemClock`. */
export function sinceBoot(): Monotonic {
  const time = new BigInt64Array(2);
  const errno = errnoOf(LIBC.symbols.clock_gettime(CLOCK_BOOTTIME, ptr(time)));
  if (errno !== 0) throw new Error(`cannot read CLOCK_BOOTTIME: errno ${errno}`);
  return Number(time[0] ?? 0n) * 1000 + Number(time[1] ?? 0n) / 1e6;
}

/** Steps the system clock. */
export function setRealTime(seconds: bigint, nanoseconds: bigint): Errno {
  const time = new BigInt64Array([seconds, nanoseconds]);
  return errnoOf(LIBC.symbols.clock_settime(CLOCK_REALTIME, ptr(time)));
}

/** Sends one datagram to a Unix socket; `@` at the begin of its path = an abstract name. Does not wait for room. */
export function sendDatagram(path: string, text: string): Errno {
  const fd = LIBC.symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errnoOf(fd);
  const data = Buffer.from(text);
  const address = Buffer.concat([Uint8Array.of(AF_UNIX, 0), Buffer.from(path.replace(/^@/, "\0"))]);
  const sent = Number(
    LIBC.symbols.sendto(fd, ptr(data), data.length, MSG_NOSIGNAL, ptr(address), address.length),
  );
  const errno = errnoOf(Math.min(sent, 0));
  LIBC.symbols.close(fd);
  return errno;
}

/** Steps the system clock to these wall ms. */
export function setSystemClock(wall: number): Errno {
  const seconds = Math.floor(wall / 1000);
  return setRealTime(BigInt(seconds), BigInt(Math.round((wall - seconds * 1000) * 1e6)));
}

/** What is written to the terminal `fd` arrives as it is: no LF becomes CR LF. */
export function passOutputThrough(fd: number): Errno {
  const termios = new Uint32Array(TERMIOS_WORDS);
  const errno = errnoOf(LIBC.symbols.tcgetattr(fd, ptr(termios)));
  if (errno !== 0) return errno;
  termios[1] = (termios[1] ?? 0) & ~OPOST;
  return errnoOf(LIBC.symbols.tcsetattr(fd, TCSANOW, ptr(termios)));
}

/** Whether the kernel reports the wall clock as synchronised (by NTP, PTP, GPS). */
export function clockSynchronised(): boolean {
  const timex = new Uint8Array(256);
  const state = LIBC.symbols.adjtimex(ptr(timex));
  const status = new DataView(timex.buffer).getInt32(40, true);
  return state >= 0 && state !== TIME_ERROR && (status & STA_UNSYNC) === 0;
}

/** Takes the exclusive lock of an open file without waiting. */
export function lockExclusive(fd: number): Errno {
  return errnoOf(LIBC.symbols.flock(fd, LOCK_EX | LOCK_NB));
}

/** Drops what the page cache holds of a file, so that the next read comes from the disk. Dirty pages stay. */
export function dropCached(fd: number): void {
  LIBC.symbols.posix_fadvise(fd, 0n, 0n, POSIX_FADV_DONTNEED);
}

/** The disk serves this thread, and those that it starts from now on, only while no other process asks. */
export function idleDiskPriority(): Errno {
  const number = IOPRIO_SET[process.arch];
  if (number === undefined) return ERRNO.EINVAL;
  const result = LIBC.symbols.syscall(number, IOPRIO_WHO_PROCESS, 0n, IOPRIO_IDLE);
  return errnoOf(Number(result));
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

/** Reclaims the pages of this range that their file still holds; Linux before 5.4 does nothing. */
export function advisePageOut(start: bigint, length: bigint): void {
  LIBC.symbols.madvise(start, length, MADV_PAGEOUT);
}

/** Offsets in struct linux_dirent64. */
export const DIRENT = { NEXT: 8, LENGTH: 16, TYPE: 18, NAME: 19 } as const;

/** getdents64(2): fills the buffer with the next entries of an open directory; 0 bytes = the end. */
export function readDirents(fd: number, buffer: Uint8Array): number {
  const bytes = LIBC.symbols.getdents64(fd, ptr(buffer), BigInt(buffer.length));
  if (bytes >= 0) return bytes;
  const errno = errnoOf(bytes);
  // The directory itself was removed meanwhile.
  if (errno === ERRNO.ENOENT) return 0;
  throw new Error(`cannot read a directory: errno ${errno}`);
}

/** Where `readDirents` goes on: 0, or the place after an entry. */
export function seekTo(fd: number, place: bigint): void {
  if (LIBC.symbols.lseek(fd, place, SEEK_SET) < 0n)
    throw new Error(`cannot read a directory: errno ${errnoOf(-1)}`);
}

interface MountCall {
  /** Absent = none, for a bind mount or a change of an existing mount. */
  readonly type?: string;
  readonly flags?: bigint;
  readonly options?: string;
}

/** mount(2). */
export function mount(source: string, target: string, call: MountCall): Errno {
  const { type = "", flags = 0n, options = "" } = call;
  const [s, t, k, o] = [cString(source), cString(target), cString(type), cString(options)];
  return errnoOf(LIBC.symbols.mount(ptr(s), ptr(t), ptr(k), flags, ptr(o)));
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
