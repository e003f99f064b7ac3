// The initial RAM disk: a static busybox, the few modules that the disk needs, and image/init.sh.

import { existsSync, mkdirSync, readFileSync, writeFileSync, cpSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";

import { output } from "../harness/run-command.ts";

const INIT = resolve(import.meta.dir, "image/init.sh");
/** ext4 asks the crypto interface for its checksum by name, so no dependency names that module. */
const WANTED = ["virtio_pci", "virtio_blk", "crc32c_generic", "ext4"];

/** Writes `initrd` from the unpacked system in `root`; `work` is an empty directory. */
export async function buildInitrd(root: string, work: string, initrd: string): Promise<void> {
  const version = readdirSync(join(root, "usr/lib/modules"))[0];
  if (version === undefined) throw new Error("the unpacked system has no kernel modules");
  const tree = join(work, "initrd");
  mkdirSync(join(tree, "bin"), { recursive: true });
  mkdirSync(join(tree, "modules"));
  cpSync(join(root, "usr/bin/busybox"), join(tree, "bin/busybox"));
  writeFileSync(join(tree, "init"), readFileSync(INIT), { mode: 0o755 });
  const found = await modulePaths(join(root, "usr/lib/modules", version));
  const order: string[] = [];
  const add = async (name: string): Promise<void> => {
    const path = found.get(name);
    // Absent: built into the kernel.
    if (path === undefined || order.includes(`${name}.ko`)) return;
    const target = join(tree, "modules", `${name}.ko`);
    await output([
      "sh",
      "-c",
      `${path.endsWith(".xz") ? "xz -dc" : "cat"} "$1" >"$2"`,
      "sh",
      path,
      target,
    ]);
    for (const needed of dependencies(target)) await add(needed);
    order.push(`${name}.ko`);
  };
  for (const name of WANTED) await add(name);
  writeFileSync(join(tree, "modules/order"), `${order.join("\n")}\n`);
  const cpio = 'cd "$1" && find . | "$3" cpio -o -H newc 2>/dev/null | gzip -1 >"$2"';
  await output(["sh", "-c", cpio, "sh", tree, initrd, hostBusybox()]);
}

async function modulePaths(directory: string): Promise<ReadonlyMap<string, string>> {
  const listed = await output(["find", directory, "-name", "*.ko*", "-type", "f"]);
  const named = listed
    .trimEnd()
    .split("\n")
    .map((path) => [moduleName(path), path] as const);
  return new Map(named);
}

function moduleName(path: string): string {
  return basename(path)
    .replace(/\.ko.*$/, "")
    .replaceAll("-", "_");
}

/** From the `depends=` that the module itself carries. */
function dependencies(path: string): readonly string[] {
  const text = readFileSync(path).toString("latin1");
  const list = /\0depends=([^\0]*)\0/.exec(text)?.[1] ?? "";
  return list === "" ? [] : list.split(",").map(moduleName);
}

function hostBusybox(): string {
  const unpacked = resolve(import.meta.dir, "../../.tools/busybox-static/busybox");
  return existsSync(unpacked) ? unpacked : "busybox";
}

/** The kernel as the emulator loads it: unpacked from the EFI program that newer kernels are packed into. */
export async function plainKernel(packed: string, kernel: string): Promise<void> {
  const bytes = readFileSync(packed);
  if (bytes.toString("latin1", 0, 2) !== "MZ" || bytes.toString("latin1", 4, 8) !== "zimg") {
    cpSync(packed, kernel);
    return;
  }
  const offset = bytes.readUInt32LE(8);
  const size = bytes.readUInt32LE(12);
  const kind = bytes.toString("latin1", 24, 56).replace(/\0.*$/s, "");
  const program: Readonly<Record<string, string>> = {
    gzip: "gzip -dc",
    zstd: "zstd -dc",
    xz: "xz -dc",
  };
  const unpack = program[kind];
  if (unpack === undefined)
    throw new Error(`the kernel is packed with ${kind}, which is not known here`);
  writeFileSync(`${kernel}.packed`, bytes.subarray(offset, offset + size));
  await output(["sh", "-c", `${unpack} "$1" >"$2"`, "sh", `${kernel}.packed`, kernel]);
}
