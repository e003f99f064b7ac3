// The files of a Debian system from its packages: unpacked, and entered in dpkg's database as unpacked, because no program
// of another processor runs here. What the packages run at their installation runs at the first boot (image/configure.sh).

import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";

import { output } from "../harness/run-command.ts";

const FILES = resolve(import.meta.dir, "image");
/** The kernel is unpacked only: installing it would build an initial RAM disk. */
const ONLY_UNPACKED = /^linux-image-/;

export async function unpackPackages(root: string, archives: readonly string[]): Promise<void> {
  const info = join(root, "var/lib/dpkg/info");
  mkdirSync(info, { recursive: true });
  // Its links /bin, /lib and /sbin have to be there before a package puts something behind them.
  const first = archives.filter((path) => basename(path).startsWith("base-files_"));
  for (const archive of new Set([...first, ...archives])) await unpack(root, archive);
  writeFileSync(join(info, "format"), "1\n");
  for (const name of ["available", "diversions", "statoverride"])
    writeFileSync(join(root, "var/lib/dpkg", name), "");
  for (const name of ["updates", "triggers", "alternatives", "parts"])
    mkdirSync(join(root, "var/lib/dpkg", name), { recursive: true });
}

async function unpack(root: string, archive: string): Promise<void> {
  const tar = 'tar -C "$2" --numeric-owner --keep-directory-symlink -xvp';
  const listed = await output(
    ["sh", "-c", `dpkg-deb --fsys-tarfile "$1" | ${tar}`, "sh", archive, root],
    120_000,
  );
  if (ONLY_UNPACKED.test(basename(archive))) return;
  await enter(root, archive, listed);
}

/** What dpkg notes of a package that is unpacked and not configured. */
async function enter(root: string, archive: string, listed: string): Promise<void> {
  const dpkg = join(root, "var/lib/dpkg");
  const control = join(dpkg, "control.new");
  rmSync(control, { recursive: true, force: true });
  await output(["dpkg-deb", "--control", archive, control]);
  const paragraph = readFileSync(join(control, "control"), "utf8").trimEnd();
  const field = (name: string): string =>
    new RegExp(`^${name}: (.*)$`, "m").exec(paragraph)?.[1] ?? "";
  const isSame = field("Multi-Arch") === "same";
  const prefix = `${field("Package")}${isSame ? `:${field("Architecture")}` : ""}`;
  for (const name of readdirSync(control))
    if (name !== "control")
      copyFileSync(join(control, name), join(dpkg, "info", `${prefix}.${name}`));
  const paths = listed
    .trimEnd()
    .split("\n")
    .map((path) => (path === "./" ? "/." : path.slice(1).replace(/\/$/, "")));
  writeFileSync(join(dpkg, "info", `${prefix}.list`), `${paths.join("\n")}\n`);
  const status = paragraph.replace(/^(Package: .*)$/m, "$1\nStatus: install ok unpacked");
  appendFileSync(join(dpkg, "status"), `${status}\n${conffiles(root, control)}\n`);
  rmSync(control, { recursive: true });
}

function conffiles(root: string, control: string): string {
  const list = join(control, "conffiles");
  if (!existsSync(list)) return "";
  const rows = readFileSync(list, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("/") && existsSync(join(root, line)))
    .map((line) => ` ${line} ${md5(readFileSync(join(root, line)))}\n`);
  return rows.length === 0 ? "" : `Conffiles:\n${rows.join("")}`;
}

function md5(data: Uint8Array): string {
  return new Bun.CryptoHasher("md5").update(data).digest("hex");
}

/** What a device has and no package brings. */
export function furnish(root: string): void {
  for (const name of ["passwd", "group"])
    copyFileSync(join(root, `usr/share/base-passwd/${name}.master`), join(root, "etc", name));
  if (!existsSync(join(root, "usr/bin/awk"))) symlinkSync("mawk", join(root, "usr/bin/awk"));
  const write = (path: string, text: string): void => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write("etc/fstab", "/dev/vda / ext4 rw,relatime,errors=remount-ro 0 1\n");
  write("etc/hostname", "device\n");
  write("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n");
  write("etc/machine-id", "");
  // Kept over a power cut, so that a report can say what the boot before it said.
  write(
    "etc/systemd/journald.conf.d/device.conf",
    "[Journal]\nStorage=persistent\nSystemMaxUse=64M\n",
  );
  // Emulated on a busy machine everything takes long; nothing may be given up because of that.
  const patience =
    "DefaultTimeoutStartSec=20min\nDefaultTimeoutStopSec=1min\nDefaultDeviceTimeoutSec=20min\n";
  write("etc/systemd/system.conf.d/device.conf", `[Manager]\n${patience}`);
  write("etc/containerd/config.toml", CONTAINERD);
  mkdirSync(join(root, "usr/lib/device"), { recursive: true });
  for (const name of ["control.sh", "configure.sh"])
    writeFileSync(join(root, "usr/lib/device", name), readFileSync(join(FILES, name)), {
      mode: 0o755,
    });
  cpSync(
    join(FILES, "device-control.service"),
    join(root, "etc/systemd/system/device-control.service"),
  );
}

/** Debian's own file, with the cgroup driver that belongs to systemd. */
const CONTAINERD = `version = 2
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/etc/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
`;
