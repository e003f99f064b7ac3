// The disk of a device on which nothing of ours is installed yet: made once, kept below .tools, read only from then on.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";

import { output } from "../harness/run-command.ts";
import { fetchPackages, PACKAGES } from "./debian.ts";
import { buildInitrd, plainKernel } from "./initrd.ts";
import { emulator } from "./emulator.ts";
import { furnish, unpackPackages } from "./root-file-system.ts";

const TOOLS = resolve(import.meta.dir, "../../.tools/device");
const SOURCES = ["debian.ts", "root-file-system.ts", "initrd.ts", "image"];
const DISK_MEGABYTES = 4096;
const CONFIGURE_TIMEOUT = 30 * 60_000;

export interface BaseImage {
  readonly kernel: string;
  readonly initrd: string;
  /** A raw file system; disks of devices are overlays over it. */
  readonly disk: string;
  /** A static one, for arm64. */
  readonly busybox: string;
  /** Names and versions of its packages. */
  readonly packages: readonly string[];
}

/** Made when it is absent or its sources have changed: about five minutes. */
export async function baseImage(say: (line: string) => void): Promise<BaseImage> {
  const home = join(TOOLS, `base-${sourcesDigest()}`);
  if (!existsSync(home)) await make(home, say);
  const at = (name: string): string => join(home, name);
  const packages = readFileSync(at("packages"), "utf8").trimEnd().split("\n");
  return {
    kernel: at("kernel"),
    initrd: at("initrd"),
    disk: at("disk"),
    busybox: at("busybox"),
    packages,
  };
}

async function make(home: string, say: (line: string) => void): Promise<void> {
  mkdirSync(TOOLS, { recursive: true });
  for (const name of readdirSync(TOOLS))
    if (name.startsWith("base-")) rmSync(join(TOOLS, name), { recursive: true });
  const work = `${home}.new`;
  const root = join(work, "root");
  mkdirSync(root, { recursive: true });
  say("device: fetching Debian packages for arm64");
  const archives = await fetchPackages(join(TOOLS, "apt"));
  say(`device: unpacking ${archives.length} packages`);
  await unpackPackages(root, archives);
  furnish(root);
  await buildInitrd(root, work, join(work, "initrd.gz"));
  const packed = readdirSync(join(root, "boot")).find((name) => name.startsWith("vmlinuz-"));
  if (packed === undefined) throw new Error("the unpacked system has no kernel");
  await plainKernel(join(root, "boot", packed), join(work, "kernel"));
  copyFileSync(join(root, "usr/bin/busybox"), join(work, "busybox"));
  await output(["truncate", "-s", `${DISK_MEGABYTES}M`, join(work, "disk")]);
  await output(["mke2fs", "-q", "-t", "ext4", "-F", "-d", root, join(work, "disk")], 300_000);
  rmSync(root, { recursive: true });
  rmSync(join(work, "initrd"), { recursive: true });
  renameSync(join(work, "initrd.gz"), join(work, "initrd"));
  say("device: configuring the packages in the emulator");
  await configure(work);
  const names = archives.map((path) => basename(path, ".deb"));
  writeFileSync(join(work, "packages"), `${names.join("\n")}\n`);
  renameSync(work, home);
}

/** The first boot; it switches itself off. Nothing is lost by a fast cache: an interrupted one begins anew. */
async function configure(work: string): Promise<void> {
  const log = join(work, "configure.log");
  const disk = `file=${join(work, "disk")},format=raw,cache=unsafe`;
  const command = emulator({
    kernel: join(work, "kernel"),
    initrd: join(work, "initrd"),
    disk,
    append: "start=/usr/lib/device/configure.sh",
    memoryMegabytes: 1024,
    console: log,
  });
  await output(command, CONFIGURE_TIMEOUT);
  const said = readFileSync(log, "utf8");
  if (!/^CONFIGURED: (hi )?/m.test(said.replaceAll("\r", "")))
    throw new Error(
      `the packages could not be configured:\n${said.split("\n").slice(-40).join("\n")}`,
    );
}

export function sourcesDigest(): string {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const source of SOURCES) {
    const path = join(import.meta.dir, source);
    const files = source.includes(".")
      ? [path]
      : readdirSync(path)
          .toSorted()
          .map((name) => join(path, name));
    for (const file of files) hasher.update(readFileSync(file));
  }
  hasher.update(PACKAGES.join(" "));
  return hasher.digest("hex").slice(0, 12);
}
