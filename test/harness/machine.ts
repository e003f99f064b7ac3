// What this machine can do, and what a private containerd needs here.

import { existsSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";

import { readText } from "./processes.ts";
import { run, runSync } from "./run-command.ts";

const CAP_SYS_RESOURCE = 24n;
const CNI_DIRECTORIES = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"] as const;

/** Why no containerd can run here, as a sentence; undefined when it can. */
export async function whyNoContainerd(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "containerd needs root";
  for (const command of ["containerd", "ctr", "containerd-shim-runc-v2", "runc", "iptables", "ip"])
    if (Bun.which(command) === null) return `${command} is not installed`;
  if (cniDirectory() === undefined) return "the CNI plugins are not installed";
  const mount = await run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]);
  if (mount.code !== 0) return `mounting is not allowed here: ${mount.stderr.trim()}`;
  const network = await run(["unshare", "-n", "true"]);
  if (network.code !== 0) return `network namespaces are not allowed: ${network.stderr.trim()}`;
  return whyNoCgroups();
}

function whyNoCgroups(): string | undefined {
  const root = "/sys/fs/cgroup";
  if (!existsSync(root)) return "there are no cgroups";
  const hierarchy = existsSync(join(root, "cgroup.controllers")) ? root : join(root, "memory");
  if (!existsSync(hierarchy)) return "there is no memory cgroup";
  const probe = join(hierarchy, `agt-probe-${process.pid}`);
  try {
    mkdirSync(probe);
    rmdirSync(probe);
    return undefined;
  } catch (thrown) {
    return `cgroups cannot be made: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}

export function cniDirectory(): string | undefined {
  return CNI_DIRECTORIES.find(
    (path) => existsSync(join(path, "bridge")) && existsSync(join(path, "portmap")),
  );
}

/** Without CAP_SYS_RESOURCE no process may be given a lower oom_score_adj than its parent's. */
export function lacksSysResource(): boolean {
  const hex = /^CapEff:\s*([0-9a-f]+)/m.exec(readText("/proc/self/status") ?? "")?.[1] ?? "0";
  return ((BigInt(`0x${hex}`) >> CAP_SYS_RESOURCE) & 1n) === 0n;
}

export function hasAppArmor(): boolean {
  return readText("/sys/module/apparmor/parameters/enabled")?.startsWith("Y") === true;
}

export function hasSelinux(): boolean {
  return existsSync("/sys/fs/selinux/enforce");
}

/** Overlay file systems do not stack in some containers; `native` copies, slow but everywhere. */
export function usableSnapshotter(directory: string): "overlayfs" | "native" {
  const at = (name: string): string => join(directory, `probe-${name}`);
  for (const name of ["lower", "upper", "work", "merged"]) mkdirSync(at(name));
  const options = `lowerdir=${at("lower")},upperdir=${at("upper")},workdir=${at("work")}`;
  const mounted = runSync(["mount", "-t", "overlay", "overlay", "-o", options, at("merged")]);
  if (mounted.code === 0) runSync(["umount", at("merged")]);
  runSync(["rm", "-rf", at("lower"), at("upper"), at("work"), at("merged")]);
  return mounted.code === 0 ? "overlayfs" : "native";
}

/** `10.x.y` of a /24 that no route or address of this machine touches. */
export function freeSubnet(): string {
  const used = runSync(["ip", "-4", "route", "show", "table", "all"]).stdout;
  for (let tries = 0; tries < 200; tries += 1) {
    const prefix = `10.${200 + Math.floor(Math.random() * 50)}.${Math.floor(Math.random() * 256)}`;
    const wide = prefix.slice(0, prefix.lastIndexOf("."));
    if (
      !used.includes(`${prefix}.`) &&
      !used.includes(`${wide}.0.0/`) &&
      !used.includes("10.0.0.0/8")
    )
      return prefix;
  }
  throw new Error("no free subnet below 10.200.0.0 was found for the CNI bridge");
}

/** Major and minor of a containerd, by default the one on PATH. */
export async function containerdVersion(): Promise<{
  readonly text: string;
  readonly major: number;
  readonly minor: number;
}> {
  const { stdout } = await run(["containerd", "--version"]);
  const found = /\bv?(\d+)\.(\d+)\.\d+\S*/.exec(stdout);
  if (found === null) throw new Error(`containerd --version says ${JSON.stringify(stdout)}`);
  return { text: found[0], major: Number(found[1]), minor: Number(found[2]) };
}

/** Names of the network interfaces. */
export function interfaces(): readonly string[] {
  return readdirSync("/sys/class/net");
}
