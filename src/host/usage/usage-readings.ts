// Performs: the kernel's counters of this machine: cgroups, network interfaces, the time of the boot.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ignoring } from "../../lib/errors.ts";
import { readCgroupFacts } from "../cgroups.ts";
import type { Room } from "../resource-readings.ts";
import {
  readCgroupPressure,
  readCgroupUsage,
  type CgroupPressure,
  type CgroupUsage,
} from "./cgroup-usage.ts";
import { readNetworkUsage, type NetworkUsage } from "./network-usage.ts";

/** Never throws; each reading takes microseconds. */
export interface UsageReadings {
  /** `path`: from the root of the tree; "" = the whole machine. */
  cgroup(path: string): CgroupUsage;
  /** The same of its tasks' waits. */
  pressure(path: string): CgroupPressure;
  /** Of the whole machine; undefined = it has none. */
  swap(): Room | undefined;
  /** The cgroup of this process, from the root of the tree. */
  ownCgroup(): string | undefined;
  /** Of the network namespace of a process in this cgroup; undefined = there is none. */
  network(path: string): NetworkUsage | undefined;
  /** Of this process's network namespace. */
  hostNetwork(): NetworkUsage | undefined;
  /** Wall ms when the machine booted, by the clock of now. */
  bootTime(): number | undefined;
}

/** `root` = "/" except in tests. */
export function realUsage(root = "/"): UsageReadings {
  const facts = readCgroupFacts(root);
  const { version, mountPoint } = facts;
  const text = (path: string): string | undefined =>
    ignoring(["ENOENT", "ENOTDIR", "ENODEV", "EACCES"], () => readFileSync(path, "utf8"));
  return {
    cgroup: (path) => readCgroupUsage(facts, path),
    pressure: (path) => readCgroupPressure(facts, path),
    swap() {
      const meminfo = text(join(root, "proc/meminfo")) ?? "";
      const bytes = (field: string): number =>
        Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(meminfo)?.[1] ?? 0) * 1024;
      const capacity = bytes("SwapTotal");
      return capacity === 0 ? undefined : { capacity, available: bytes("SwapFree") };
    },
    ownCgroup() {
      const list = text(join(root, "proc/self/cgroup")) ?? "";
      const own = (version === 2 ? /^0::\/(.*)$/m : /:(?:[^:]*,)?memory[^:]*:\/(.*)$/m).exec(list);
      return own?.[1];
    },
    network(path) {
      const tree = version === 2 ? mountPoint : join(mountPoint, "pids");
      const [first] = (text(join(tree, path, "cgroup.procs")) ?? "").split("\n");
      if (first === undefined || !/^\d+$/.test(first)) return undefined;
      return readNetworkUsage(join(root, "proc", first));
    },
    hostNetwork: () => readNetworkUsage(join(root, "proc/self")),
    bootTime() {
      const seconds = /^btime (\d+)$/m.exec(text(join(root, "proc/stat")) ?? "")?.[1];
      return seconds === undefined ? undefined : Number(seconds) * 1000;
    },
  };
}
