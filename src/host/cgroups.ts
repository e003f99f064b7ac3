// Performs: the kernel's cgroups: which version and controllers it has, and writing limits. Version 1 has one tree per
// controller, version 2 one for all; a hybrid system counts as version 1.

import { existsSync, mkdirSync, writeFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";

export type CgroupController = "cpu" | "memory" | "pids" | "cpuset" | "hugetlb";

export interface CgroupFacts {
  /** 2 only for the unified hierarchy; hybrid is 1. */
  readonly version: 1 | 2;
  /** Usable controllers. */
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

/** The root of version 2 has no limit files, so a cgroup below it is checked: our own, or one that systemd created. */
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

/** The remedy for a missing memory controller; undefined when there is one. */
export function memoryCgroupRemedy({ controllers }: CgroupFacts): string | undefined {
  if (controllers.includes("memory")) return undefined;
  return "the kernel's memory cgroup is disabled: add `cgroup_enable=memory cgroup_memory=1` to /boot/firmware/cmdline.txt (or the kernel's command line) and reboot";
}

/** One file of a cgroup and what belongs in it. */
export interface CgroupValue {
  readonly controller: CgroupController;
  readonly file: string;
  readonly value: string;
  /** A limit of the pod's spec: without it the pod must not run. */
  readonly isLimit: boolean;
}

export interface CgroupFailure {
  readonly path: string;
  readonly value: CgroupValue;
  readonly message: string;
}

/** Synchronous: a handful of writes into the kernel's memory. */
export interface Cgroups {
  readonly facts: CgroupFacts;
  /**
   * Writes the values, in order, into the cgroup at `path` (relative to the root of the tree); `make` creates it and its
   * parents first. Never throws; returns the values that could not be written.
   */
  write(
    path: string,
    values: readonly CgroupValue[],
    options: { readonly make: boolean },
  ): readonly CgroupFailure[];
  /**
   * How many processes in the cgroup at `path` the OOM killer has ended; undefined if the kernel does not count them or
   * there is no such cgroup. Never throws.
   */
  oomKills(path: string): number | undefined;
}

/** `root` = "/" except in tests. */
export function realCgroups(root = "/"): Cgroups {
  const facts = readCgroupFacts(root);
  return {
    facts,
    write: (path, values, { make }) => {
      const usable = values.filter(({ controller }) => facts.controllers.includes(controller));
      const missing = values.filter((value) => !usable.includes(value));
      if (make) makeCgroup(facts, path, usable);
      return [
        ...missing.map((value) => ({
          path,
          value,
          message: `the kernel has no ${value.controller} cgroup`,
        })),
        ...usable.flatMap((value) => writeValue(facts, path, value)),
      ];
    },
    oomKills: (path) => readOomKills(facts, path),
  };
}

function readOomKills({ version, mountPoint }: CgroupFacts, path: string): number | undefined {
  const file =
    version === 2
      ? join(mountPoint, path, "memory.events")
      : join(mountPoint, "memory", path, "memory.oom_control");
  try {
    const count = /^oom_kill (\d+)$/m.exec(readFileSync(file, "utf8"))?.[1];
    return count === undefined ? undefined : Number(count);
  } catch {
    // The runtime has removed it, or it is of another class.
    return undefined;
  }
}

/** Failures show when the values are written. */
function makeCgroup(facts: CgroupFacts, path: string, values: readonly CgroupValue[]): void {
  const controllers = [...new Set(values.map(({ controller }) => controller))];
  try {
    if (facts.version === 2) makeUnified(facts.mountPoint, path, controllers);
    else
      for (const controller of controllers)
        mkdirSync(join(facts.mountPoint, controller, path), { recursive: true });
  } catch {
    // Writing the first value fails with the kernel's reason.
  }
}

/** In version 2 a cgroup has the files of the controllers that its parent enables in cgroup.subtree_control. */
function makeUnified(
  mountPoint: string,
  path: string,
  controllers: readonly CgroupController[],
): void {
  let directory = mountPoint;
  const enable = controllers.map((controller) => `+${controller}`).join(" ");
  for (const part of path.split("/")) {
    writeFileSync(join(directory, "cgroup.subtree_control"), enable);
    directory = join(directory, part);
    if (!existsSync(directory)) mkdirSync(directory);
  }
}

function writeValue(
  { version, mountPoint }: CgroupFacts,
  path: string,
  value: CgroupValue,
): readonly CgroupFailure[] {
  const tree = version === 2 ? mountPoint : join(mountPoint, value.controller);
  const file = join(tree, path, value.file);
  try {
    // r+: a missing file is a limit that this kernel lacks, and must not be created.
    writeFileSync(file, value.value, { flag: "r+" });
    return [];
  } catch (error) {
    return [{ path, value, message: `${file}: ${messageOf(error)}` }];
  }
}
