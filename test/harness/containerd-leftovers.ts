// Removes all that a private containerd leaves on the machine: shims, containers, cgroups, mounts, bridge, NAT rules.
// Everything here blocks, so that it can also run while the process ends; nothing that is not the containerd's own is touched.

import { existsSync, readdirSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import {
  commandLines,
  endProcesses,
  identify,
  readText,
  signal,
  waitForEnd,
  type ProcessIdentity,
} from "./processes.ts";
import { runSync } from "./run-command.ts";

const FACTS = "containerd.json";
/** libcni's cache and the directories that every containerd makes, whatever its configuration. */
const CNI_RESULTS = "/var/lib/cni/results";
const RUN_DIRECTORIES = ["s", "fifo", "runc/k8s.io", "runc", ""] as const;
const SHARED_CHAINS = ["CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-SETMARK", "CNI-HOSTPORT-MASQ"] as const;

/** What is needed to clean up, also by a later process: written before containerd starts. */
export interface ContainerdFacts {
  /** Holds root, state, socket and configuration. */
  readonly directory: string;
  readonly state: string;
  readonly socket: string;
  readonly bridge: string;
  readonly subnet: string;
  /** Name of the CNI network: the comment of each of its NAT rules. */
  readonly network: string;
  /** Parent cgroup of all pods of this containerd, e.g. `/agt-1a2b3c`. */
  readonly cgroup: string;
  /** As found before the start, to be put back. */
  readonly before: {
    readonly ipForward: string;
    readonly hostPortChains: boolean;
    readonly runDirectory: boolean;
    readonly k8sCgroup: boolean;
    readonly cniResults: boolean;
  };
}

export function writeContainerdFacts(facts: ContainerdFacts): void {
  writeFileSync(join(dirname(facts.directory), FACTS), JSON.stringify(facts));
}

/** The facts in a run's directory, if it had a containerd. */
export function readContainerdFacts(path: string): ContainerdFacts | undefined {
  const text = readText(join(path, FACTS));
  return text === undefined ? undefined : (JSON.parse(text) as ContainerdFacts);
}

/** What the machine looks like before a private containerd changes it. */
export function factsBefore(): ContainerdFacts["before"] {
  return {
    ipForward: readText("/proc/sys/net/ipv4/ip_forward")?.trim() ?? "",
    hostPortChains: natRules().some((rule) => rule === `-N ${SHARED_CHAINS[0]}`),
    runDirectory: existsSync("/run/containerd"),
    k8sCgroup: cgroupDirectories("/k8s.io").length > 0,
    cniResults: existsSync(CNI_RESULTS),
  };
}

export function cleanUpContainerd(facts: ContainerdFacts): void {
  const containers = listContainers(facts);
  endProcesses(daemons(facts), 3_000);
  const shims = shimProcesses(facts);
  for (const shim of shims) signal(shim, "SIGKILL");
  const cgroups = containers.flatMap((container) => container.cgroups);
  killCgroups([...cgroups, ...cgroupDirectories(facts.cgroup)]);
  waitForEnd([...shims, ...containers.flatMap((container) => container.init ?? [])], 5_000);
  unmountBelow(facts.directory);
  removeNetwork(facts);
  removeCniResults(
    facts,
    containers.map(({ id }) => id),
  );
  removeCgroups([...cgroups, ...cgroupDirectories(facts.cgroup)]);
  for (const { shimSocket } of containers)
    if (shimSocket !== undefined) rmSync(shimSocket, { force: true });
  restoreMachine(facts);
  rmSync(join(dirname(facts.directory), FACTS), { force: true });
}

/** Unmounts everything at or below `directory`, the innermost first. */
export function unmountBelow(directory: string): void {
  const mounts = (readText("/proc/self/mountinfo") ?? "")
    .split("\n")
    .map((line) => line.split(" ")[4])
    .filter((point) => point !== undefined)
    .filter((point) => point === directory || point.startsWith(`${directory}/`));
  for (const point of mounts.reverse())
    if (runSync(["umount", point]).code !== 0) runSync(["umount", "-l", point]);
}

/** Processes of containerd itself: its configuration file lies in our directory. */
function daemons(facts: ContainerdFacts): readonly ProcessIdentity[] {
  return commandLines()
    .filter(({ args }) => args.includes(join(facts.directory, "config.toml")))
    .flatMap(({ pid }) => identify(pid) ?? []);
}

function shimProcesses(facts: ContainerdFacts): readonly ProcessIdentity[] {
  return commandLines()
    .filter(({ args }) => args.includes("-address") && args.includes(facts.socket))
    .flatMap(({ pid }) => identify(pid) ?? []);
}

interface LeftContainer {
  readonly id: string;
  readonly init: ProcessIdentity | undefined;
  readonly cgroups: readonly string[];
  readonly shimSocket: string | undefined;
}

/** Containers by their bundles in our own state directory. A pid counts only if its cgroup names the container. */
function listContainers(facts: ContainerdFacts): readonly LeftContainer[] {
  const tasks = join(facts.state, "io.containerd.runtime.v2.task");
  return subdirectories(tasks).flatMap((namespace) =>
    subdirectories(namespace).map((bundle) => {
      const id = bundle.slice(bundle.lastIndexOf("/") + 1);
      const pid = Number(readText(join(bundle, "init.pid")) ?? "0");
      const cgroups = cgroupsOf(pid).filter((path) => path.includes(id));
      return {
        id,
        init: cgroups.length === 0 ? undefined : identify(pid),
        cgroups,
        shimSocket: shimSocketOf(bundle),
      };
    }),
  );
}

/** containerd 1.x writes `address`, 2.x the JSON of `bootstrap.json`; both name the shim's socket as a URL. */
function shimSocketOf(bundle: string): string | undefined {
  const text = readText(join(bundle, "address")) ?? readText(join(bundle, "bootstrap.json")) ?? "";
  return /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)/.exec(text)?.[1];
}

/** Directories under /sys/fs/cgroup of a process, one per hierarchy. */
function cgroupsOf(pid: number): readonly string[] {
  const lines = pid > 0 ? (readText(`/proc/${pid}/cgroup`) ?? "").trim().split("\n") : [];
  return lines.flatMap((line) => {
    const path = line.split(":").slice(2).join(":");
    return path.length > 1 ? cgroupDirectories(path) : [];
  });
}

/** Where a cgroup path exists: in the one hierarchy of v2 or in each of v1. */
function cgroupDirectories(path: string): readonly string[] {
  const root = "/sys/fs/cgroup";
  const roots = existsSync(join(root, "cgroup.controllers")) ? [root] : subdirectories(root);
  return roots
    .map((hierarchy) => join(hierarchy, path))
    .filter((directory) => existsSync(directory));
}

function killCgroups(directories: readonly string[]): void {
  for (const directory of directories) {
    for (const child of subdirectories(directory)) killCgroups([child]);
    for (const pid of (readText(join(directory, "cgroup.procs")) ?? "").split("\n")) {
      const target = pid === "" ? undefined : identify(Number(pid));
      if (target !== undefined) signal(target, "SIGKILL");
    }
  }
}

function removeCgroups(directories: readonly string[]): void {
  for (const directory of directories) {
    removeCgroups(subdirectories(directory));
    const end = performance.now() + 2_000;
    // The kernel answers EBUSY for some milliseconds after the last process.
    while (!removeIfEmpty(directory) && performance.now() < end) Bun.sleepSync(5);
  }
}

function removeNetwork(facts: ContainerdFacts): void {
  runSync(["ip", "link", "delete", facts.bridge]);
  const rules = natRules();
  const own = rules.filter((rule) => rule.includes(`name: \\"${facts.network}\\"`));
  const chains = new Set(
    own
      .map((rule) => / -j (CNI-\S+)$/.exec(rule)?.[1])
      .filter((chain) => chain !== undefined && !isShared(chain)),
  );
  for (const rule of own) if (!chains.has(rule.split(" ")[1])) deleteRule(rule);
  for (const chain of chains) {
    runSync(["iptables", "-w", "-t", "nat", "-F", chain ?? ""]);
    runSync(["iptables", "-w", "-t", "nat", "-X", chain ?? ""]);
  }
}

/** libcni remembers each result under a name with network and sandbox; loopback's under the sandbox alone. */
function removeCniResults(facts: ContainerdFacts, ids: readonly string[]): void {
  const own = (name: string): boolean =>
    name.startsWith(`${facts.network}-`) || ids.some((id) => name.includes(id));
  for (const name of listIfThere(CNI_RESULTS))
    if (own(name)) rmSync(join(CNI_RESULTS, name), { force: true });
  if (!facts.before.cniResults)
    for (const path of [CNI_RESULTS, dirname(CNI_RESULTS)]) removeIfEmpty(path);
}

/** Shared settings go back only when no other network of CNI uses them any more. */
function restoreMachine(facts: ContainerdFacts): void {
  const rules = natRules();
  const inUse = rules.some((rule) => rule.startsWith(`-A ${SHARED_CHAINS[0]} `));
  if (!facts.before.hostPortChains && !inUse) {
    for (const rule of rules)
      if (SHARED_CHAINS.some((chain) => rule.startsWith("-A ") && rule.includes(chain)))
        deleteRule(rule);
    for (const chain of SHARED_CHAINS) runSync(["iptables", "-w", "-t", "nat", "-X", chain]);
  }
  if (!facts.before.runDirectory)
    for (const path of RUN_DIRECTORIES) removeIfEmpty(join("/run/containerd", path));
  for (const path of cgroupDirectories("/k8s.io")) if (!facts.before.k8sCgroup) removeIfEmpty(path);
  const others = readdirSync("/sys/class/net").some((name) => name.startsWith("agt"));
  if (facts.before.ipForward === "0" && !others)
    writeFileSync("/proc/sys/net/ipv4/ip_forward", "0");
}

function isShared(chain: string): boolean {
  return SHARED_CHAINS.some((shared) => shared === chain);
}

function natRules(): readonly string[] {
  return runSync(["iptables", "-w", "-t", "nat", "-S"]).stdout.split("\n");
}

/** `rule` as `iptables -S` prints it: quotes around comments, backslashes inside them. */
function deleteRule(rule: string): void {
  const args = [...rule.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "",
  );
  runSync(["iptables", "-w", "-t", "nat", "-D", ...args.slice(1)]);
}

function subdirectories(path: string): readonly string[] {
  return listIfThere(path)
    .map((name) => join(path, name))
    .filter((each) => statSync(each, { throwIfNoEntry: false })?.isDirectory() === true);
}

function listIfThere(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // Gone, which is what we want.
  }
}

function removeIfEmpty(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch {
    return !existsSync(path); // Not empty or busy: it is somebody's.
  }
}
