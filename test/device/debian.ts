// Debian 13 packages for arm64, fetched by an apt with its own lists and an empty machine: the machine's packages do not count.

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { run } from "../harness/run-command.ts";

const KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg";
const MINUTES = 60_000;

/** Beside what Debian calls essential and required. */
export const PACKAGES = [
  "systemd",
  "systemd-sysv",
  "udev",
  "dbus",
  "apparmor",
  "apt",
  "iproute2",
  "iptables",
  "nftables",
  "kmod",
  "procps",
  "containerd",
  "runc",
  "containernetworking-plugins",
  "mosquitto",
  "mosquitto-clients",
  "libstdc++6",
  "sqlite3",
  "busybox-static",
  "docker-registry",
  "e2fsprogs",
  "zstd",
  "linux-image-arm64",
] as const;

/** Only what builds the initial RAM disk that we build ourselves. */
const LEFT_OUT =
  /^(initramfs-tools|linux-base_|linux-image-arm64_|klibc-utils|libklibc|dracut|cpio_)/;

/** Paths of the archives of these packages and all they need, in `directory`. `DEBIAN_MIRROR`: set by ./build.sh device. */
export async function fetchPackages(directory: string): Promise<readonly string[]> {
  const archives = join(directory, "archives");
  for (const path of ["lists/partial", "archives/partial"])
    mkdirSync(join(directory, path), { recursive: true });
  const mirror = process.env["DEBIAN_MIRROR"] ?? "";
  if (mirror === "") throw new Error("the sources of this machine's apt name no mirror of Debian");
  const source = `deb [signed-by=${KEYS}] ${mirror} trixie main\n`;
  writeFileSync(join(directory, "sources.list"), source);
  writeFileSync(join(directory, "status"), "");
  writeFileSync(join(directory, "apt.conf"), aptConfiguration(directory));
  await apt(directory, ["update"]);
  const wanted = ["?essential", "?priority(required)", ...PACKAGES];
  await apt(directory, ["install", "-y", "--download-only", ...wanted]);
  return readdirSync(archives)
    .filter((name) => name.endsWith(".deb") && !LEFT_OUT.test(name))
    .map((name) => join(archives, name))
    .toSorted();
}

async function apt(directory: string, args: readonly string[]): Promise<void> {
  const done = await run(["apt-get", "-q", ...args], {
    timeout: 20 * MINUTES,
    env: {
      APT_CONFIG: join(directory, "apt.conf"),
      DEBIAN_FRONTEND: "noninteractive",
      LC_ALL: "C",
    },
  });
  if (done.code !== 0) throw new Error(`apt-get ${args[0]} failed: ${done.stderr || done.stdout}`);
}

function aptConfiguration(directory: string): string {
  return `APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::Etc::sourcelist "${directory}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::State "${directory}";
Dir::State::lists "${directory}/lists";
Dir::State::status "${directory}/status";
Dir::Cache "${directory}";
Dir::Cache::archives "${directory}/archives";
Dir::Log "${directory}";
`;
}
