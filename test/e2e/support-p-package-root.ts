// A root directory with just what dpkg and maintainer scripts need: a shell and a few programs, stubs of systemd's commands that write down
// what they are asked, and libraries. It has its own /proc and mounts nothing on this machine.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { agentBinary } from "../harness/agent-process.ts";
import { output, run, type CommandResult } from "../harness/run-command.ts";

/** What maintainer scripts call, from this machine. */
const PROGRAMS = ["basename", "cat", "grep", "readlink", "rm", "sh", "stat"];
const STUBS = ["systemctl", "deb-systemd-helper", "deb-systemd-invoke"];

export class PackageRoot {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async open(path: string): Promise<PackageRoot> {
    const root = new PackageRoot(path);
    for (const name of [
      "usr/bin",
      "usr/lib",
      "dev",
      "proc",
      "tmp",
      "run/systemd/system",
      "var/lib/dpkg/info",
    ])
      mkdirSync(root.at(name), { recursive: true });
    for (const name of ["bin", "sbin", "lib", "lib64"])
      symlinkSync(name.endsWith("bin") ? "usr/bin" : "usr/lib", root.at(name));
    for (const name of ["status", "available"]) root.write(`var/lib/dpkg/${name}`, "");
    for (const name of PROGRAMS) copyFileSync(Bun.which(name) ?? name, root.at(`usr/bin/${name}`));
    for (const name of STUBS)
      writeFileSync(
        root.at(`usr/bin/${name}`),
        `#!/bin/sh\necho "${name} $*" >>/asked\n[ ! -e "/fails/${name}" ]\n`,
        { mode: 0o755 },
      );
    const libraries = await output([
      "ldd",
      agentBinary(),
      ...PROGRAMS.map((name) => root.at(`usr/bin/${name}`)),
    ]);
    for (const [library] of libraries.matchAll(/(?<=\s)\/\S+(?= \()/g)) {
      const place = root.at(join("usr/lib", library.replace(/^(\/usr)?\/lib(64)?\//, "")));
      mkdirSync(dirname(place), { recursive: true });
      copyFileSync(library, place);
    }
    return root;
  }

  at(path: string): string {
    return join(this.path, path);
  }

  has(path: string): boolean {
    return existsSync(this.at(path));
  }

  text(path: string): string {
    return readFileSync(this.at(path), "utf8");
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), text);
  }

  /** What systemd's commands were asked since the last call. */
  asked(): readonly string[] {
    const lines = this.has("asked") ? this.text("asked").split("\n") : [];
    this.write("asked", "");
    return lines.filter((line) => line !== "");
  }

  /** `before`: shell commands that run in the same namespaces before dpkg. */
  dpkg(args: readonly string[], before = ""): Promise<CommandResult> {
    const script = `mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" || exit 99
${before}
root=$1
shift
exec dpkg --root="$root" --force-depends "$@"`;
    return run(
      ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", this.path, ...args],
      { timeout: 100_000, env: { LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" } },
    );
  }

  /** Maintainer scripts run outside of the root, as where a machine cannot run its programs. */
  dpkgFromOutside(args: readonly string[]): Promise<CommandResult> {
    return run(
      ["dpkg", `--root=${this.path}`, "--force-depends", "--force-script-chrootless", ...args],
      {
        timeout: 100_000,
        env: { LC_ALL: "C", PATH: `${this.at("outside")}:${process.env["PATH"] ?? ""}` },
      },
    );
  }
}
