// Performs: the parts of a bundle that this machine has, without an agent: configuration, checks, manifests, kernel, sizes.

import { lstat, readdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import { readManifest } from "../../api/decode/decode-manifest.ts";
import { runPrograms } from "../../host/run-program.ts";
import { CliError } from "../exit-codes.ts";
import { checkList } from "../check/check.ts";
import { loadConfigInForce } from "../load-config.ts";
import type { BundleContext, Part, PartSink } from "./bundle-context.ts";
import { manifestPaths, refuseHung, textOfFile, whyNot } from "./local-files.ts";

/** Its checks have limits of their own. */
const CHECK_MS = 60_000;
const PROGRAM_MS = 10_000;
const PROGRAM_BYTES = 16 * 1024 * 1024;
/** Of the agent's log, and of the kernel's. */
const LOG_LINES = 2_000;
/** Of the service, as its documentation installs it. */
const UNIT = "agent";
/** Files that are counted below one directory. */
const MAX_COUNTED = 100_000;
const MAX_MANIFESTS = 1_000;

export const MACHINE_PARTS: readonly Part[] = [
  {
    name: "version.txt",
    read: ({ call }, { add }) => {
      const text = `agent ${call.version}\n`;
      add({ name: "version.txt", from: "this binary", content: { type: "Text", text } });
      return Promise.resolve();
    },
  },
  {
    name: "config.json",
    read: async ({ call }, { add }) => {
      const value = await loadConfigInForce(call.flags(), call.terminal.environment);
      add({
        name: "config.json",
        from: "agent config print -o json",
        content: { type: "Json", value },
      });
    },
  },
  {
    name: "check.json",
    isLast: true,
    limitMs: CHECK_MS,
    read: async ({ call }, { add }) => {
      const value = await checkList(call.flags(), call.terminal);
      add({ name: "check.json", from: "agent check -o json", content: { type: "Json", value } });
    },
  },
  { name: "manifests/", read: readManifests },
  { name: "machine/kernel.txt", read: readKernel },
  { name: "machine/sizes.txt", limitMs: CHECK_MS, read: readSizes },
  program("machine/containerd.txt", ["containerd", "--version"]),
  program("machine/runc.txt", ["runc", "--version"]),
  fileOf("machine/containerd-config.toml", "/etc/containerd/config.toml"),
  program("log/agent.txt", [
    "journalctl",
    "-u",
    UNIT,
    "-n",
    String(LOG_LINES),
    "--no-pager",
    "-o",
    "short-iso",
  ]),
  program("log/kernel.txt", ["journalctl", "-k", "-n", "300", "--no-pager", "-o", "short-iso"]),
];

function program(name: string, [path = "", ...args]: readonly string[]): Part {
  return {
    name,
    read: async ({ call }, { add }, signal) => {
      const run = runPrograms(call.terminal.clock);
      const { PATH = "/usr/sbin:/usr/bin:/sbin:/bin" } = call.terminal.environment;
      const limits = { timeoutMs: PROGRAM_MS, maxBytes: PROGRAM_BYTES };
      const { exitCode, stdout } = await run(
        { path, args, env: { PATH, LC_ALL: "C" }, stdin: "", ...limits },
        signal,
      );
      if (exitCode !== 0) throw new CliError(`${path} has ended with ${exitCode}`);
      add({ name, from: [path, ...args].join(" "), content: { type: "Text", text: stdout } });
    },
  };
}

function fileOf(name: string, path: string): Part {
  return {
    name,
    read: async (_context, { add }) => {
      add({ name, from: path, content: { type: "Text", text: await textOfFile(path) } });
    },
  };
}

/** With the same names; read as the agent reads them, so that comments are gone. */
async function readManifests(
  { config, hung }: BundleContext,
  { add, leaveOut }: PartSink,
): Promise<void> {
  refuseHung(hung, config.staticPodPath);
  const found = await manifestPaths(config.staticPodPath);
  if (found.length > MAX_MANIFESTS)
    leaveOut("manifests/", `there are ${found.length} files; these are the first ${MAX_MANIFESTS}`);
  for (const { name: file, path } of found.slice(0, MAX_MANIFESTS)) {
    const name = `manifests/${file}.json`;
    try {
      const { documents, errors } = readManifest(new TextEncoder().encode(await textOfFile(path)));
      const value = documents.map((document) => document.value);
      if (errors.length > 0)
        leaveOut(
          name,
          "it is not valid YAML or JSON, so that its Secrets cannot be found; see rejections.json, or agent validate",
        );
      else add({ name, from: path, content: { type: "Json", value } });
    } catch (error) {
      leaveOut(name, whyNot(error));
    }
  }
}

const KERNEL_FILES = [
  "/proc/version",
  "/proc/cmdline",
  "/proc/uptime",
  "/proc/loadavg",
  "/proc/meminfo",
  "/proc/swaps",
  "/proc/cgroups",
  "/proc/self/cgroup",
  "/proc/self/mounts",
  "/proc/filesystems",
  "/proc/pressure/cpu",
  "/proc/pressure/io",
  "/proc/pressure/memory",
  "/sys/fs/cgroup/cgroup.controllers",
  "/sys/fs/cgroup/cgroup.subtree_control",
  "/sys/module/apparmor/parameters/enabled",
  "/sys/firmware/devicetree/base/model",
  "/etc/os-release",
  "/etc/resolv.conf",
] as const;

async function readKernel(_context: BundleContext, { add }: PartSink): Promise<void> {
  const parts = KERNEL_FILES.map(async (path) => {
    const text = await textOfFile(path).catch((error: unknown) => whyNot(error));
    return `== ${path}\n${text.replaceAll("\0", "").trimEnd()}\n`;
  });
  const text = (await Promise.all(parts)).join("\n");
  add({
    name: "machine/kernel.txt",
    from: "/proc, /sys and /etc",
    content: { type: "Text", text },
  });
}

/** Of the configuration. */
export const DIRECTORIES = [
  "stateDir",
  "podLogsDir",
  "staticPodPath",
  "trustPath",
  "claimRoot",
  "imageArchivePath",
] as const;

async function readSizes(
  { config, hung }: BundleContext,
  { add }: PartSink,
  signal: AbortSignal,
): Promise<void> {
  const lines: string[] = [];
  for (const word of DIRECTORIES) {
    const path = config[word];
    const sizes = async (): Promise<readonly string[]> => {
      refuseHung(hung, path);
      return sizesOf(path, signal);
    };
    lines.push(
      `== ${word} ${path}`,
      ...(await sizes().catch((error: unknown) => [whyNot(error)])),
      "",
    );
    if (signal.aborted) break;
  }
  const text = lines.join("\n");
  add({
    name: "machine/sizes.txt",
    from: "the agent's directories",
    content: { type: "Text", text },
  });
}

/** Free space, and what each entry holds, without what is mounted below. */
async function sizesOf(path: string, signal: AbortSignal): Promise<readonly string[]> {
  const { blocks, bavail, bsize, files, ffree } = await statfs(path);
  const space = `file system: ${blocks * bsize} bytes, ${bavail * bsize} available; ${files} inodes, ${ffree} free`;
  const { dev } = await lstat(path);
  const entries = (await readdir(path)).toSorted().slice(0, MAX_MANIFESTS);
  const lines: string[] = [];
  for (const entry of entries) {
    const { bytes, count, isWhole } = await usedBy(join(path, entry), dev, signal);
    lines.push(
      `${String(bytes).padStart(14)} bytes ${String(count).padStart(7)} files${isWhole ? "" : " or more"}  ${entry}`,
    );
  }
  return [space, ...lines];
}

async function usedBy(path: string, dev: number, signal: AbortSignal) {
  const [waiting, used] = [[path], { bytes: 0, count: 0, isWhole: true }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (used.count >= MAX_COUNTED || signal.aborted) return { ...used, isWhole: false };
    const info = await lstat(next).catch(whyNot);
    if (typeof info === "string" || info.dev !== dev) continue;
    used.bytes += info.blocks * 512;
    used.count += 1;
    if (!info.isDirectory()) continue;
    const parent = next;
    const names = await readdir(parent).catch(whyNot);
    if (typeof names !== "string") waiting.push(...names.map((name) => join(parent, name)));
  }
  return used;
}
