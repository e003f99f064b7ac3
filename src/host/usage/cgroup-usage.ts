// Performs: reads what one cgroup has used and uses now, of either version. kubelet: cAdvisor's container stats

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ignoring } from "../../lib/errors.ts";
import type { CgroupFacts } from "../cgroups.ts";

/** What the kernel does not tell is absent. */
export interface CgroupUsage {
  /** Processor time since the cgroup was made. */
  readonly cpuNanoSeconds?: number;
  readonly memory?: MemoryUsage;
  readonly swapBytes?: number;
  /** Most swap that it may use; absent = there is no limit of its own. */
  readonly swapLimitBytes?: number;
  readonly pids?: number;
}

/** How long tasks have waited for a resource. */
export interface Pressure {
  /** All of them at once. */
  readonly full: Stall;
  /** Some of them. */
  readonly some: Stall;
}

export interface Stall {
  /** Microseconds. */
  readonly total: number;
  /** Percent of the last so many seconds. */
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

/** What the kernel does not count is absent. */
export interface CgroupPressure {
  readonly cpu?: Pressure;
  readonly memory?: Pressure;
  readonly io?: Pressure;
}

export interface MemoryUsage {
  /** Absent = the cgroup has no limit. */
  readonly limitBytes?: number;
  readonly usageBytes: number;
  /** Without the file pages that the kernel drops first. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
}

/** Of a cgroup that is gone, or was removed meanwhile. */
const UNREADABLE = ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ENODEV", "EOPNOTSUPP", "EIO"];
/** Version 1 writes an absent limit as the largest multiple of a page below 2^63. */
const NO_LIMIT = 2 ** 62;

type Place = Pick<CgroupFacts, "version" | "mountPoint">;

/** `path`: from the root of the tree; "" = the root, for which version 2 tells the processor time only. */
export function readCgroupUsage({ version, mountPoint }: Place, path: string): CgroupUsage {
  const directory = (controller: string): string =>
    version === 2 ? join(mountPoint, path) : join(mountPoint, controller, path);
  const pids = numberIn(join(directory("pids"), "pids.current"));
  const memory = memoryIn(directory("memory"), version);
  const cpuNanoSeconds = cpuIn(directory("cpuacct"), version);
  const swapBytes = swapIn(directory("memory"), version);
  const swapLimitBytes = swapLimitIn(directory("memory"), version);
  return {
    ...(cpuNanoSeconds === undefined ? {} : { cpuNanoSeconds }),
    ...(memory === undefined ? {} : { memory }),
    ...(swapBytes === undefined ? {} : { swapBytes }),
    ...(swapLimitBytes === undefined ? {} : { swapLimitBytes }),
    ...(pids === undefined ? {} : { pids }),
  };
}

function cpuIn(directory: string, version: 1 | 2): number | undefined {
  if (version === 1) return numberIn(join(directory, "cpuacct.usage"));
  const microseconds = fieldsIn(join(directory, "cpu.stat"))?.get("usage_usec");
  return microseconds === undefined ? undefined : microseconds * 1000;
}

const FIELDS = {
  1: {
    rss: "total_rss",
    inactive: "total_inactive_file",
    faults: "total_pgfault",
    major: "total_pgmajfault",
  },
  2: { rss: "anon", inactive: "inactive_file", faults: "pgfault", major: "pgmajfault" },
} as const;

function memoryIn(directory: string, version: 1 | 2): MemoryUsage | undefined {
  const of2 = version === 2;
  const usageBytes = numberIn(join(directory, of2 ? "memory.current" : "memory.usage_in_bytes"));
  const stat = fieldsIn(join(directory, "memory.stat"));
  if (usageBytes === undefined || stat === undefined) return undefined;
  const names = FIELDS[version];
  const limit = numberIn(join(directory, of2 ? "memory.max" : "memory.limit_in_bytes"));
  return {
    ...(limit === undefined || limit >= NO_LIMIT ? {} : { limitBytes: limit }),
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - (stat.get(names.inactive) ?? 0)),
    rssBytes: stat.get(names.rss) ?? 0,
    pageFaults: stat.get(names.faults) ?? 0,
    majorPageFaults: stat.get(names.major) ?? 0,
  };
}

function swapIn(directory: string, version: 1 | 2): number | undefined {
  if (version === 2) return numberIn(join(directory, "memory.swap.current"));
  return fieldsIn(join(directory, "memory.stat"))?.get("total_swap");
}

/** Version 1 limits memory and swap together. */
function swapLimitIn(directory: string, version: 1 | 2): number | undefined {
  if (version === 2) return numberIn(join(directory, "memory.swap.max"));
  const both = numberIn(join(directory, "memory.memsw.limit_in_bytes"));
  const memory = numberIn(join(directory, "memory.limit_in_bytes"));
  if (both === undefined || memory === undefined || both >= NO_LIMIT) return undefined;
  return Math.max(0, both - memory);
}

/** Version 1 counts none. */
export function readCgroupPressure({ version, mountPoint }: Place, path: string): CgroupPressure {
  if (version === 1) return {};
  const of = (resource: string): Pressure | undefined =>
    parsePressure(textOf(join(mountPoint, path, `${resource}.pressure`)) ?? "");
  const [cpu, memory, io] = [of("cpu"), of("memory"), of("io")];
  return {
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
    ...(io === undefined ? {} : { io }),
  };
}

const NO_STALL: Stall = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
const STALL = /^(some|full) avg10=(\d+\.\d+) avg60=(\d+\.\d+) avg300=(\d+\.\d+) total=(\d+)$/gm;

/** Older kernels have no line `full` for the processor. */
function parsePressure(text: string): Pressure | undefined {
  const lines = new Map(
    [...text.matchAll(STALL)].map(([, kind = "", avg10, avg60, avg300, total]) => [
      kind,
      {
        total: Number(total),
        avg10: Number(avg10),
        avg60: Number(avg60),
        avg300: Number(avg300),
      },
    ]),
  );
  const some = lines.get("some");
  return some === undefined ? undefined : { full: lines.get("full") ?? NO_STALL, some };
}

/** A file of lines `name number`. */
function fieldsIn(path: string): ReadonlyMap<string, number> | undefined {
  const text = textOf(path);
  if (text === undefined) return undefined;
  return new Map(
    [...text.matchAll(/^(\S+) (\d+)$/gm)].map(([, name = "", n]) => [name, Number(n)]),
  );
}

/** undefined = no number: "max", or nothing. */
function numberIn(path: string): number | undefined {
  const text = textOf(path);
  return text !== undefined && /^\d+\s*$/.test(text) ? Number(text) : undefined;
}

function textOf(path: string): string | undefined {
  return ignoring(UNREADABLE, () => readFileSync(path, "utf8"));
}
