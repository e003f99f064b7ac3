// Performs: which cgroups this kernel offers: version 1, 2, or the controllers of 1 beside an empty 2 (hybrid).

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export type CgroupController = "cpu" | "memory" | "pids" | "cpuset" | "hugetlb";

export interface CgroupFacts {
  /** 2 only when all controllers are there; hybrid is 1. */
  readonly version: 1 | 2;
  /** Those that can be used; limits of others fail or do nothing. */
  readonly controllers: readonly CgroupController[];
  /** Where the hierarchy is mounted. */
  readonly mountPoint: string;
  /** Whether swap can be limited. */
  readonly hasSwap: boolean;
}

const CONTROLLERS: readonly CgroupController[] = ["cpu", "cpuset", "hugetlb", "memory", "pids"];

/** `root` = "/" except in tests. */
export function readCgroupFacts(root = "/"): CgroupFacts {
  const mountPoint = join(root, "sys/fs/cgroup");
  const unified = join(mountPoint, "cgroup.controllers");
  if (existsSync(unified)) {
    const names = readFileSync(unified, "utf8").trim().split(/\s+/);
    return {
      version: 2,
      controllers: CONTROLLERS.filter((name) => names.includes(name)),
      mountPoint,
      hasSwap: limitsSwap(root, mountPoint),
    };
  }
  const enabled = enabledInVersion1(join(root, "proc/cgroups"));
  const mounted = (name: CgroupController): boolean => existsSync(join(mountPoint, name));
  const controllers = CONTROLLERS.filter((name) => enabled.includes(name) && mounted(name));
  const hasSwap = existsSync(join(mountPoint, "memory/memory.memsw.limit_in_bytes"));
  return { version: 1, controllers, mountPoint, hasSwap };
}

/** The root of version 2 has no limits: a cgroup below it tells, our own or one that systemd has made. */
function limitsSwap(root: string, mountPoint: string): boolean {
  const list = join(root, "proc/self/cgroup");
  const text = existsSync(list) ? readFileSync(list, "utf8") : "";
  const own = /^0::(\/.*)$/m.exec(text)?.[1] ?? "/";
  return [own, "init.scope", "system.slice"].some((path) =>
    existsSync(join(mountPoint, path, "memory.swap.max")),
  );
}

/** /proc/cgroups: name, hierarchy, number of cgroups, enabled. */
function enabledInVersion1(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .map((line) => line.split("\t"))
    .filter(([name, , , enabled]) => name?.startsWith("#") === false && enabled === "1")
    .flatMap(([name]) => name ?? []);
}

/** What a person can do about a missing memory controller; undefined when it is there. */
export function memoryCgroupRemedy({ controllers }: CgroupFacts): string | undefined {
  if (controllers.includes("memory")) return undefined;
  return "the kernel's memory cgroup is off: add `cgroup_enable=memory cgroup_memory=1` to /boot/firmware/cmdline.txt (or the kernel's command line) and reboot";
}
