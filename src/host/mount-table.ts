// Performs: reads the kernel's mount table, which never waits for a file system, and tells which of them may hang.

import { readFileSync } from "node:fs";
import { ignoring } from "../lib/errors.ts";

export interface MountLine {
  readonly point: string;
  /** The mounted directory as a path inside its file system; it ends in `//deleted` if it was removed since. */
  readonly root: string;
  /** Of the file system: `ext4`, `nfs4`, `fuse.sshfs`. */
  readonly type: string;
  /** Mounts and unmounts below it appear elsewhere too. */
  readonly isShared: boolean;
}

/** Mount point → type of its file system. */
export type MountTypes = ReadonlyMap<string, string>;

/** A file system that may hang, where a path leads into it. */
export interface HangableMount {
  readonly point: string;
  readonly type: string;
}

const TABLE = "/proc/self/mountinfo";
/** The same mounts without their options: a fifth of the text, as the layers of each container are options. */
const STATISTICS = "/proc/self/mountstats";

/** Their calls are answered by the kernel alone; a disk that is broken fails. Any other type waits for another program. */
const LOCAL: ReadonlySet<string> = new Set([
  // On disks and flash.
  ..."bcachefs btrfs cramfs erofs exfat ext2 ext3 ext4 f2fs hfsplus iso9660 jffs2 jfs minix".split(
    " ",
  ),
  ..."msdos nilfs2 ntfs3 overlay romfs squashfs ubifs udf vfat xfs zfs".split(" "),
  // In memory, and of the kernel itself.
  ..."devtmpfs ramfs rootfs tmpfs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts".split(
    " ",
  ),
  ..."efivarfs fusectl hugetlbfs mqueue nsfs proc pstore rpc_pipefs securityfs selinuxfs".split(
    " ",
  ),
  ..."sysfs tracefs".split(" "),
]);

export function readMounts(): readonly MountLine[] {
  return parseMounts(readFileSync(TABLE, "utf8"));
}

/** The mounts whose file systems may hang; a later mount at the same point hides an earlier one. */
export function hangableMounts(): MountTypes {
  return mayAnyHang() ? hangable(readMounts()) : NONE;
}

const NONE: MountTypes = new Map();
/** The kernel writes no space in a path, but escapes it. */
const TYPES = / with fstype ([^ \n]+)/g;

/** Most machines have none. Only root may read the statistics. */
function mayAnyHang(): boolean {
  const text = ignoring(["EACCES", "ENOENT"], () => readFileSync(STATISTICS, "utf8"));
  if (text === undefined) return true;
  return text.matchAll(TYPES).some(([, type]) => type !== undefined && !LOCAL.has(type));
}

export function hangable(mounts: readonly MountLine[]): MountTypes {
  const top = new Map(mounts.map(({ point, type }) => [point, type]));
  return new Map([...top].filter(([, type]) => !LOCAL.has(type)));
}

/** In the order they were mounted, from the text of /proc/self/mountinfo. */
export function parseMounts(mountinfo: string): readonly MountLine[] {
  return mountinfo.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root, point, , ...optional] = before.split(" ");
    if (root === undefined || point === undefined) return [];
    const isShared = optional.some((field) => field.startsWith("shared:"));
    const [type = ""] = after.split(" ");
    return [{ point: unescapeOctal(point), root: unescapeOctal(root), type, isShared }];
  });
}

/** The kernel writes space, tab, newline and backslash as three octal digits. */
function unescapeOctal(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** Those strictly below `path`, deepest and newest first: the order of unmounting. */
export function mountsBelow(mounts: readonly MountLine[], path: string): readonly MountLine[] {
  const prefix = path.endsWith("/") ? path : `${path}/`;
  return mounts
    .filter(({ point }) => point.startsWith(prefix) && point !== path)
    .toReversed()
    .toSorted((a, b) => depth(b.point) - depth(a.point));
}

function depth(path: string): number {
  return path.split("/").length;
}
