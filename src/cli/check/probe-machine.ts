// Performs: reads what the checks of the machine judge. Whatever may lie on a file system that hangs is read without holding
// up the process.

import { existsSync } from "node:fs";
import { access, constants, readdir, readFile, readlink, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AgentConfig } from "../../config/config.ts";
import { readCgroupFacts } from "../../host/cgroups.ts";
import { clockSynchronised } from "../../host/libc.ts";
import { readText } from "../../host/machine.ts";
import { isJsonObject } from "../../lib/json.ts";
import { errorCode } from "../../lib/errors.ts";
import type { FileFacts } from "./judge-files.ts";
import type {
  CgroupSight,
  DiskRoom,
  KernelFacts,
  LibraryFacts,
  TimeFacts,
} from "./judge-machine.ts";
import type { ProcessFacts } from "./judge-runtime.ts";

export async function kernelFacts(): Promise<KernelFacts> {
  const version = readText("/proc/sys/kernel/osrelease");
  const fileSystems = readText("/proc/filesystems")
    .split("\n")
    .map((line) => line.split("\t").at(-1) ?? "");
  return {
    version,
    fileSystems,
    hasOverlayModule: await hasModule(version, "overlay"),
    namespaces: await readdir("/proc/self/ns"),
    hasSeccomp: /^Seccomp:/m.test(readText("/proc/self/status")),
  };
}

async function hasModule(kernel: string, name: string): Promise<boolean | undefined> {
  const list = join("/lib/modules", kernel, "modules.dep");
  try {
    return new RegExp(`/${name}\\.ko`).test(await readFile(list, "utf8"));
  } catch {
    // A container, or a kernel without modules.
    return undefined;
  }
}

const COMMAND_LINES = ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"];

export function cgroupSight(): CgroupSight {
  const { version, controllers } = readCgroupFacts();
  const commandLineFile = COMMAND_LINES.find((path) => existsSync(path));
  return { version, controllers, commandLine: readText("/proc/cmdline"), commandLineFile };
}

/** No release of the agent is older. */
const FLOOR = Date.UTC(2026, 0, 1);

export function timeFacts(now: number): TimeFacts {
  return { isSynchronised: clockSynchronised(), now, floor: FLOOR };
}

const LIBRARIES = ["/usr/lib", "/lib", "/usr/lib64", "/lib64"];

export async function libraryFacts(): Promise<LibraryFacts> {
  const report: unknown = process.report.getReport();
  const header = isJsonObject(report) ? report["header"] : undefined;
  const glibc = isJsonObject(header) ? header["glibcVersionRuntime"] : undefined;
  return {
    glibc: typeof glibc === "string" ? glibc : undefined,
    libstdcxx: await libstdcxx(),
  };
}

/** The version in the name of the file behind the link; undefined = there is none. */
async function libstdcxx(): Promise<string | undefined> {
  const triplet = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  for (const directory of LIBRARIES.flatMap((path) => [join(path, triplet), path])) {
    const path = join(directory, "libstdc++.so.6");
    if (!existsSync(path)) continue;
    const target = await readlink(path).catch(() => "");
    return /libstdc\+\+\.so\.(6\.[\d.]+)$/.exec(target)?.[1] ?? "";
  }
  return undefined;
}

/** The directories that grow, each with the room of its file system. */
export function diskRooms(
  { stateDir, podLogsDir, claimRoot }: AgentConfig,
  imageDirectories: readonly string[],
): Promise<readonly DiskRoom[]> {
  const places: readonly (readonly [what: string, path: string])[] = [
    ...Object.entries({ stateDir, podLogsDir, claimRoot }),
    ...imageDirectories.map((path) => ["images", path] as const),
  ];
  return Promise.all(places.map(([what, path]) => diskRoom(what, path)));
}

async function diskRoom(what: string, path: string): Promise<DiskRoom> {
  const existing = await nearest(path);
  const { blocks, bavail, bsize, files, ffree } = await statfs(existing);
  const isWritable = await allows(existing, constants.W_OK);
  return {
    what,
    path,
    sizeBytes: blocks * bsize,
    freeBytes: bavail * bsize,
    inodes: files,
    freeInodes: ffree,
    isWritable,
  };
}

/** A directory is made when the agent starts. */
async function nearest(path: string): Promise<string> {
  return path === "/" || (await allows(path, constants.F_OK)) ? path : nearest(dirname(path));
}

function allows(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

/** Owner and permissions of `path`; undefined = there is nothing. */
export async function fileFacts(what: string, path: string): Promise<FileFacts | undefined> {
  try {
    const { uid: owner, mode } = await stat(path);
    return { what, path, owner, mode: mode & 0o7777 };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The processes that this user may look at. */
export async function processes(): Promise<readonly ProcessFacts[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(
    pids.map(async (pid) => {
      // It may end meanwhile.
      const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      return { pid: Number(pid), words: text.split("\0").filter((word) => word !== "") };
    }),
  );
  return all.filter(({ words }) => words.length > 0);
}
