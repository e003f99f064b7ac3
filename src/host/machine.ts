// Performs: reads facts of this machine for the node's name and status.

import { existsSync, readFileSync, readdirSync, statfsSync } from "node:fs";
import { availableParallelism, networkInterfaces, type NetworkInterfaceInfo } from "node:os";
import { join } from "node:path";
import { quantityText } from "../api/resource/quantity.ts";

export type Architecture = "amd64" | "arm64";

/** An address of the node. */
export interface NodeAddress {
  readonly interface: string;
  readonly family: 4 | 6;
  readonly address: string;
}

/** "" = unknown. */
export interface MachineFacts {
  readonly hostname: string;
  readonly machineId: string;
  /** Of the board: device tree on ARM, DMI on PCs. Readable by root only on PCs. */
  readonly serial: string;
  /** Of the hardware: DMI on PCs, the hypervisor's on virtual machines; else the machine ID, as in the kubelet. */
  readonly systemUuid: string;
  /** Of the first physical network interface by name, lower case. */
  readonly mac: string;
  /** CPUs this process may use. */
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Absent = the machine has no swap. */
  readonly swapBytes?: number;
  /** Page size as Kubernetes writes it ("2Mi") → bytes set aside for pages of it. */
  readonly hugePages: Readonly<Record<string, number>>;
  /** Of the file system that holds the agent's state; absent = unknown. */
  readonly storageBytes?: number;
  /** Processes and threads that the kernel allows; absent = unknown. */
  readonly maxPids?: number;
  /** Whether the kernel enforces AppArmor profiles. */
  readonly hasAppArmor: boolean;
  readonly kernelVersion: string;
  /** PRETTY_NAME of os-release. */
  readonly osImage: string;
  /** Named as Kubernetes does. */
  readonly architecture: Architecture;
}

export interface DiskFacts {
  readonly capacityBytes: number;
  /** Left for unprivileged users, as `df` prints it. */
  readonly availableBytes: number;
}

/** Facts that do not change while the machine runs. `root` = "/" except in tests. */
export function readMachineFacts(root = "/"): MachineFacts {
  const text = (path: string): string => readText(join(root, path));
  return {
    hostname: text("proc/sys/kernel/hostname"),
    machineId: machineId(text),
    serial: boardSerial(text),
    systemUuid: systemUuid(text),
    mac: firstMac(root),
    cpus: availableParallelism(),
    ...memory(text("proc/meminfo")),
    hugePages: hugePages(root),
    ...maxPids(text),
    hasAppArmor: text("sys/module/apparmor/parameters/enabled") === "Y",
    kernelVersion: text("proc/sys/kernel/osrelease"),
    osImage:
      prettyName(text("etc/os-release")) ?? prettyName(text("usr/lib/os-release")) ?? "Linux",
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
  };
}

/** A UUID that changes with every boot. */
export function bootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** Size of the file system that holds `path`. */
export function readDiskFacts(path: string): DiskFacts {
  const { blocks, bavail, bsize } = statfsSync(path);
  return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize };
}

/** The node's addresses, those of the default route's interface first; no loopback, no link-local. */
export function readNodeAddresses(
  root = "/",
  interfaces = networkInterfaces(),
): readonly NodeAddress[] {
  const first = defaultRouteInterface(readText(join(root, "proc/net/route")));
  const all = Object.entries(interfaces).flatMap(([name, infos]) =>
    (infos ?? []).filter(isNodeAddress).map((info): NodeAddress => {
      return { interface: name, family: info.family === "IPv6" ? 6 : 4, address: info.address };
    }),
  );
  const rank = (address: NodeAddress): number =>
    (address.interface === first ? 0 : 2) + (address.family === 4 ? 0 : 1);
  return all.toSorted((a, b) => rank(a) - rank(b));
}

function isNodeAddress({ internal, address }: NetworkInterfaceInfo): boolean {
  return !internal && !/^(fe[89ab]|169\.254\.)/i.test(address);
}

/** Interface of the default route with the lowest metric in /proc/net/route. */
function defaultRouteInterface(table: string): string | undefined {
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1] === "00000000" && fields[7] === "00000000")
    .toSorted((a, b) => Number(a[6]) - Number(b[6]))[0]?.[0];
}

function boardSerial(text: (path: string) => string): string {
  const candidates = [
    text("proc/device-tree/serial-number"),
    text("sys/class/dmi/id/product_serial"),
    text("sys/class/dmi/id/board_serial"),
  ];
  return candidates.find(isRealSerial) ?? "";
}

/** "" = none. `root`: "/", or where an image is mounted. */
export function machineIdOf(root: string): string {
  return machineId((path) => readText(join(root, path)));
}

/** kubelet: --machine-id-file */
function machineId(text: (path: string) => string): string {
  return text("etc/machine-id") || text("var/lib/dbus/machine-id");
}

function systemUuid(text: (path: string) => string): string {
  const candidates = [
    "sys/class/dmi/id/product_uuid",
    "proc/device-tree/system-id",
    "proc/device-tree/vm,uuid",
  ];
  return candidates.map(text).find((uuid) => uuid !== "") ?? machineId(text);
}

function memory(meminfo: string): Pick<MachineFacts, "memoryBytes" | "swapBytes"> {
  const bytes = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(meminfo)?.[1] ?? 0) * 1024;
  const swapBytes = bytes("SwapTotal");
  return { memoryBytes: bytes("MemTotal"), ...(swapBytes === 0 ? {} : { swapBytes }) };
}

/** Boards without a serial number report a placeholder or zeros. */
function isRealSerial(serial: string): boolean {
  if (/^[0\s.-]*$/.test(serial)) return false;
  return !/^(none|n\/a|default string|not (specified|applicable|available)|to be filled.*|system serial number|unknown|0123456789)$/i.test(
    serial,
  );
}

function firstMac(root: string): string {
  const directory = join(root, "sys/class/net");
  if (!existsSync(directory)) return "";
  const macs = readdirSync(directory)
    .toSorted()
    .map((name) => ({
      physical: existsSync(join(directory, name, "device")),
      mac: readText(join(directory, name, "address")).toLowerCase(),
    }))
    .filter(({ mac }) => /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac) && mac !== "00:00:00:00:00:00");
  return (macs.find(({ physical }) => physical) ?? macs[0])?.mac ?? "";
}

/** The kernel has a directory `hugepages-<size>kB` for each supported size. */
function hugePages(root: string): Readonly<Record<string, number>> {
  const directory = join(root, "sys/kernel/mm/hugepages");
  if (!existsSync(directory)) return {};
  const sizes = readdirSync(directory)
    .toSorted()
    .flatMap((name) => {
      const kibibytes = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
      if (kibibytes === 0) return [];
      const pages = Number(readText(join(directory, name, "nr_hugepages")));
      return [
        [
          quantityText(BigInt(kibibytes) * 1_024_000n, "Binary"),
          (pages || 0) * kibibytes * 1024,
        ] as const,
      ];
    });
  return Object.fromEntries(sizes);
}

function prettyName(osRelease: string): string | undefined {
  return /^PRETTY_NAME=["']?(.*?)["']?$/m.exec(osRelease)?.[1];
}

/** Without the NUL of the device tree and white space around; "" when it cannot be read. */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8").replaceAll("\0", "").trim();
  } catch {
    // Absent on this kind of machine, or readable by root only.
    return "";
  }
}

/** kubelet: pidlimit.Stats */
function maxPids(text: (path: string) => string): Pick<MachineFacts, "maxPids"> {
  const limits = ["pid_max", "threads-max"].map((name) => Number(text(`proc/sys/kernel/${name}`)));
  const known = limits.filter((limit) => limit > 0);
  return known.length === 0 ? {} : { maxPids: Math.min(...known) };
}
