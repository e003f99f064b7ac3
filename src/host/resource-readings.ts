// Performs: reads how much of the node's memory, file systems and process ids is left. Each reading takes microseconds.
// kubelet: summary stats of the node

import { readFileSync, statSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { ignoring } from "../lib/errors.ts";
import { readCgroupFacts } from "./cgroups.ts";

/** Bytes, inodes or process ids. */
export interface Room {
  readonly capacity: number;
  readonly available: number;
}

export interface FileSystemRoom {
  /** Equal for two paths on one file system. */
  readonly device: string;
  readonly bytes: Room;
  /** undefined = the file system has no fixed number of inodes. */
  readonly inodes: Room | undefined;
}

/** undefined = unknown. */
export interface CgroupUse {
  readonly memoryBytes: number | undefined;
  readonly pids: number | undefined;
}

/** Never throws; undefined = it cannot be read. */
export interface ResourceReadings {
  /** Of the whole machine: what is free or can be freed without harm. */
  memory(): Room | undefined;
  /** Of the cgroup of all pods (a path from the root of the tree), if it has a limit. */
  podsMemory(path: string): Room | undefined;
  pids(): Room | undefined;
  /** Of one pod's cgroup. */
  podUse(path: string): CgroupUse;
  /** The file system must not be one that may hang. */
  fileSystem(path: string): FileSystemRoom | undefined;
  /** Milliseconds since boot in which some task waited for memory; undefined = the kernel has no PSI. */
  memoryStallMs(): number | undefined;
}

/** `root` = "/" except in tests. */
export function realReadings(root = "/"): ResourceReadings {
  const { version, controllers, mountPoint } = readCgroupFacts(root);
  const text = (path: string): string | undefined => textOf(join(root, path));
  const tree = version === 2 ? mountPoint : join(mountPoint, "memory");
  const hasMemory = controllers.includes("memory");
  return {
    memory() {
      const meminfo = text("proc/meminfo");
      if (meminfo === undefined) return undefined;
      const capacity = kibibytes(meminfo, "MemTotal");
      // The root of version 2 has no memory.current. cAdvisor: rootStatsFromMeminfo
      if (version === 2 || !hasMemory)
        return {
          capacity,
          available: kibibytes(meminfo, "MemFree") + kibibytes(meminfo, "Inactive(file)"),
        };
      const used = workingSet(tree, version);
      return used === undefined ? undefined : { capacity, available: Math.max(0, capacity - used) };
    },
    podsMemory(path) {
      if (!hasMemory) return undefined;
      const directory = join(tree, path);
      const capacity = numberOf(
        textOf(join(directory, version === 2 ? "memory.max" : "memory.limit_in_bytes")),
      );
      const used = workingSet(directory, version);
      if (capacity === undefined || capacity >= NO_LIMIT || used === undefined) return undefined;
      return { capacity, available: Math.max(0, capacity - used) };
    },
    pids() {
      const limits = [text("proc/sys/kernel/pid_max"), text("proc/sys/kernel/threads-max")];
      const known = limits.map(numberOf).filter((limit) => limit !== undefined);
      const running = /^(?:\S+ ){3}\d+\/(\d+)/.exec(text("proc/loadavg") ?? "")?.[1];
      if (known.length === 0 || running === undefined) return undefined;
      const capacity = Math.min(...known);
      return { capacity, available: Math.max(0, capacity - Number(running)) };
    },
    podUse(path) {
      const pidsTree = version === 2 ? mountPoint : join(mountPoint, "pids");
      return {
        memoryBytes: hasMemory ? workingSet(join(tree, path), version) : undefined,
        pids: numberOf(textOf(join(pidsTree, path, "pids.current"))),
      };
    },
    fileSystem: (path) => fileSystemRoom(join(root, path)),
    memoryStallMs() {
      const total = /^some .*\btotal=(\d+)/m.exec(text("proc/pressure/memory") ?? "")?.[1];
      return total === undefined ? undefined : Number(total) / 1000;
    },
  };
}

/** Version 1 writes an absent limit as the largest multiple of a page below 2^63. */
const NO_LIMIT = 2 ** 62;
const UNREADABLE = ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ENODEV", "EOPNOTSUPP", "EIO"];

function fileSystemRoom(path: string): FileSystemRoom | undefined {
  return ignoring(UNREADABLE, () => {
    const { blocks, bavail, bsize, files, ffree } = statfsSync(path);
    return {
      device: String(statSync(path).dev),
      bytes: { capacity: blocks * bsize, available: bavail * bsize },
      inodes: files === 0 ? undefined : { capacity: files, available: ffree },
    };
  });
}

/** What a cgroup uses, less the file pages that the kernel drops first. kubelet: working set */
function workingSet(directory: string, version: 1 | 2): number | undefined {
  const usage = numberOf(
    textOf(join(directory, version === 2 ? "memory.current" : "memory.usage_in_bytes")),
  );
  if (usage === undefined) return undefined;
  const stat = textOf(join(directory, "memory.stat")) ?? "";
  const field = version === 2 ? "inactive_file" : "total_inactive_file";
  const inactive = Number(new RegExp(`^${field} (\\d+)$`, "m").exec(stat)?.[1] ?? 0);
  return Math.max(0, usage - inactive);
}

function kibibytes(meminfo: string, field: string): number {
  const line = meminfo.split("\n").find((one) => one.startsWith(`${field}:`));
  return Number(/(\d+) kB$/.exec(line ?? "")?.[1] ?? 0) * 1024;
}

/** undefined = no number: "max", or nothing. */
function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+\s*$/.test(text) ? Number(text) : undefined;
}

function textOf(path: string): string | undefined {
  return ignoring(UNREADABLE, () => readFileSync(path, "utf8"));
}
