// Performs: reads how much of the node's memory, file systems and process ids is left. Each reading takes microseconds.
// kubelet: summary stats of the node

import { readFileSync, statSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { ignoring } from "../lib/errors.ts";
import { readCgroupFacts } from "./cgroups.ts";
import { readCgroupUsage } from "./usage/cgroup-usage.ts";

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
  const facts = readCgroupFacts(root);
  const text = (path: string): string | undefined => textOf(join(root, path));
  const hasMemory = facts.controllers.includes("memory");
  return {
    memory() {
      const meminfo = text("proc/meminfo");
      if (meminfo === undefined) return undefined;
      const capacity = kibibytes(meminfo, "MemTotal");
      // The root of version 2 has no memory.current. cAdvisor: rootStatsFromMeminfo
      if (facts.version === 2 || !hasMemory)
        return {
          capacity,
          available: kibibytes(meminfo, "MemFree") + kibibytes(meminfo, "Inactive(file)"),
        };
      const used = readCgroupUsage(facts, "").memory?.workingSetBytes;
      return used === undefined ? undefined : { capacity, available: Math.max(0, capacity - used) };
    },
    podsMemory(path) {
      if (!hasMemory) return undefined;
      const { memory } = readCgroupUsage(facts, path);
      if (memory?.limitBytes === undefined) return undefined;
      const { limitBytes: capacity, workingSetBytes } = memory;
      return { capacity, available: Math.max(0, capacity - workingSetBytes) };
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
      const { memory, pids } = readCgroupUsage(facts, path);
      return { memoryBytes: hasMemory ? memory?.workingSetBytes : undefined, pids };
    },
    fileSystem: (path) => fileSystemRoom(join(root, path)),
    memoryStallMs() {
      const total = /^some .*\btotal=(\d+)/m.exec(text("proc/pressure/memory") ?? "")?.[1];
      return total === undefined ? undefined : Number(total) / 1000;
    },
  };
}

const UNREADABLE = ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ENODEV", "EOPNOTSUPP", "EIO"];

function fileSystemRoom(path: string): FileSystemRoom | undefined {
  return ignoring(UNREADABLE, () => {
    const { type, blocks, bavail, bsize, files, ffree } = statfsSync(path);
    return {
      device: deviceOf({ type, bytes: blocks * bsize, dev: statSync(path).dev }),
      bytes: { capacity: blocks * bsize, available: bavail * bsize },
      inodes: files === 0 ? undefined : { capacity: files, available: ffree },
    };
  });
}

const BTRFS = 0x9123683e;

/** Subvolumes of one btrfs have device numbers of their own, and its space in common: there the size stands for the device. */
export function deviceOf(facts: {
  readonly type: number;
  readonly bytes: number;
  readonly dev: number;
}): string {
  return facts.type === BTRFS ? `btrfs of ${facts.bytes} bytes` : String(facts.dev);
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
