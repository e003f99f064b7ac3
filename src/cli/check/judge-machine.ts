// Judges the machine: kernel, cgroups, clock, libraries, room on the disks.

import { compareVersions } from "./versions.ts";
import { broken, doubtful, fine, orFine, type Finding } from "./finding.ts";

export interface KernelFacts {
  /** As `uname -r` prints it. */
  readonly version: string;
  /** Of /proc/filesystems. */
  readonly fileSystems: readonly string[];
  /** Whether there is a module of that name to load; undefined = the modules of this kernel cannot be looked through. */
  readonly hasOverlayModule: boolean | undefined;
  /** Names in /proc/self/ns. */
  readonly namespaces: readonly string[];
  readonly hasSeccomp: boolean;
}

/** The oldest kernel of a distribution with the glibc that is needed. */
const MIN_KERNEL = "5.10";
const NEEDED_NAMESPACES = ["ipc", "mnt", "net", "pid", "uts"];

export function judgeKernel(facts: KernelFacts): readonly Finding[] {
  const { version, fileSystems, hasOverlayModule, namespaces, hasSeccomp } = facts;
  const problems: Finding[] = [];
  if (compareVersions(version, MIN_KERNEL) < 0)
    problems.push(
      doubtful(
        `the kernel ${version} is older than ${MIN_KERNEL}, the oldest that is tested`,
        "upgrade the distribution",
      ),
    );
  if (!fileSystems.includes("overlay") && hasOverlayModule !== true)
    problems.push(
      broken(
        "the kernel has no overlay file system, which containers are made of",
        "load it with modprobe overlay, or use a kernel with CONFIG_OVERLAY_FS",
      ),
    );
  const missing = NEEDED_NAMESPACES.filter((name) => !namespaces.includes(name));
  if (missing.length > 0)
    problems.push(
      broken(
        `the kernel lacks namespaces that containers need: ${missing.join(", ")}`,
        "use a kernel with CONFIG_NAMESPACES and the namespaces named",
      ),
    );
  if (!hasSeccomp)
    problems.push(
      doubtful(
        "the kernel has no seccomp: pods with a seccomp profile are refused",
        "use a kernel with CONFIG_SECCOMP_FILTER",
      ),
    );
  return orFine(problems, `Linux ${version} with overlay, namespaces and seccomp`);
}

export interface CgroupSight {
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
  /** The kernel's command line, /proc/cmdline. */
  readonly commandLine: string;
  /** The file of the boot loader that has the command line, if there is one. */
  readonly commandLineFile: string | undefined;
}

const MEMORY_WORDS = ["cgroup_enable=memory", "cgroup_memory=1"];

export function judgeCgroups(facts: CgroupSight): readonly Finding[] {
  const { version, controllers } = facts;
  const problems: Finding[] = [];
  if (!controllers.includes("memory"))
    problems.push(
      broken(
        "the memory controller of cgroups is off: no memory limit holds, and admission cannot count on one",
        memoryRemedy(facts),
      ),
    );
  const others = ["cpu", "pids"].filter((name) => !controllers.includes(name));
  if (others.length > 0)
    problems.push(
      doubtful(
        `cgroups lack the controllers ${others.join(", ")}: such limits do not hold`,
        "use a kernel with CONFIG_CGROUP_SCHED and CONFIG_CGROUP_PIDS",
      ),
    );
  return orFine(problems, `cgroups v${version} with ${controllers.join(", ")}`);
}

function memoryRemedy({ commandLine, commandLineFile }: CgroupSight): string {
  const words = MEMORY_WORDS.filter((word) => !commandLine.split(/\s+/).includes(word)).join(" ");
  if (words === "")
    return "the command line of the kernel asks for it already: use a kernel with CONFIG_MEMCG";
  const what = `append to the one line of ${commandLineFile ?? "the kernel's command line"}: ${words}`;
  return commandLineFile === undefined
    ? `${what} (GRUB: GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub), and reboot`
    : `${what}, and reboot`;
}

export interface TimeFacts {
  readonly isSynchronised: boolean;
  /** Wall-clock milliseconds. */
  readonly now: number;
  /** Before this moment the clock is certainly wrong. */
  readonly floor: number;
}

export function judgeTime({ isSynchronised, now, floor }: TimeFacts): readonly Finding[] {
  const remedy =
    "start a time service (systemctl enable --now systemd-timesyncd, or chrony), or add a real-time clock";
  const time = new Date(now).toISOString();
  if (now < floor)
    return [broken(`the clock shows ${time}, which has passed: certificates do not hold`, remedy)];
  if (isSynchronised) return [fine(`the clock is synchronised: ${time}`)];
  return [doubtful(`the clock is not synchronised; it shows ${time}`, remedy)];
}

export interface LibraryFacts {
  /** undefined = this is no glibc. */
  readonly glibc: string | undefined;
  /** Of the file behind libstdc++.so.6, such as `6.0.30`; "" = it has no version; undefined = there is none. */
  readonly libstdcxx: string | undefined;
}

const MIN_GLIBC = "2.34";
/** The first with GLIBCXX_3.4.29, which the database's addon is linked to. */
const MIN_LIBSTDCXX = "6.0.29";

export function judgeLibraries({ glibc, libstdcxx }: LibraryFacts): readonly Finding[] {
  const problems: Finding[] = [];
  const upgrade = "use a distribution with it, such as Debian 12 or Ubuntu 22.04";
  if (glibc === undefined || compareVersions(glibc, MIN_GLIBC) < 0)
    problems.push(
      broken(`glibc is ${glibc ?? "missing"}; ${MIN_GLIBC} or later is needed`, upgrade),
    );
  if (libstdcxx === undefined)
    problems.push(
      broken("libstdc++.so.6 is missing", "install it (Debian: apt-get install libstdc++6)"),
    );
  else if (libstdcxx !== "" && compareVersions(libstdcxx, MIN_LIBSTDCXX) < 0)
    problems.push(
      broken(`libstdc++.so.${libstdcxx} is too old; ${MIN_LIBSTDCXX} or later is needed`, upgrade),
    );
  return orFine(problems, `glibc ${glibc ?? ""}, libstdc++.so.${libstdcxx ?? ""}`);
}

export interface DiskRoom {
  /** The field of the configuration: `stateDir`. */
  readonly what: string;
  readonly path: string;
  readonly sizeBytes: number;
  readonly freeBytes: number;
  /** 0 = the file system does not count them. */
  readonly inodes: number;
  readonly freeInodes: number;
  readonly isWritable: boolean;
}

/** Below these shares the node evicts pods, by default. */
const FEW_BYTES = 0.15;
const TOO_FEW_BYTES = 0.05;
const FEW_INODES = 0.05;
const TOO_FEW_INODES = 0.01;

export function judgeDisk(room: DiskRoom): Finding {
  const { what, path, sizeBytes, freeBytes, inodes, freeInodes, isWritable } = room;
  const where = `${what} ${path}`;
  if (!isWritable)
    return broken(
      `${where} cannot be written`,
      "run this as root; if it is root, mount the file system writable (mount, dmesg)",
    );
  const free = sizeBytes === 0 ? 1 : freeBytes / sizeBytes;
  const freeNames = inodes === 0 ? 1 : freeInodes / inodes;
  const facts = `${where}: ${gibibytes(freeBytes)} of ${gibibytes(sizeBytes)} free (${percent(free)})`;
  const names = `${where}: ${freeInodes} of ${inodes} inodes free (${percent(freeNames)})`;
  const remedy = "remove files, or unused images with agent images prune";
  if (free < TOO_FEW_BYTES) return broken(facts, remedy);
  if (freeNames < TOO_FEW_INODES) return broken(names, remedy);
  if (free < FEW_BYTES) return doubtful(`${facts}; pods are evicted soon`, remedy);
  if (freeNames < FEW_INODES) return doubtful(`${names}; pods are evicted soon`, remedy);
  return fine(facts);
}

function gibibytes(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

function percent(share: number): string {
  return `${Math.floor(share * 100)} %`;
}
