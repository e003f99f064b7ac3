// Images of programs that this machine has: the program, the libraries it loads, and busybox beside them.

import { readFileSync } from "node:fs";
import { basename } from "node:path";

import type { ImageSpec } from "./images.ts";
import { runSync } from "./run-command.ts";
import type { TarEntry } from "./tar.ts";

export interface ProgramImage {
  readonly name: string;
  /** Found on the path, and the entrypoint of the image, in /bin. */
  readonly program: string;
  /** Words after it. */
  readonly command?: readonly string[];
  /** A number, or a name of /etc/passwd. */
  readonly user: string;
  /** Owned by root, writable for nobody else: as a new directory is. */
  readonly directories?: readonly string[];
}

/** Names are looked up in /etc/hosts first; without the file glibc asks a name server first. */
const NSSWITCH = "hosts: files dns\n";

export function programImage({ name, program, user, ...more }: ProgramImage): ImageSpec {
  const path = Bun.which(program, { PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin` });
  if (path === null) throw new Error(`${program} is not installed; ./build.sh test installs it`);
  const inside = `bin/${basename(path)}`;
  return {
    name,
    version: "1",
    user,
    entrypoint: [`/${inside}`],
    ...(more.command === undefined ? {} : { command: more.command }),
    files: [
      fileOf(inside, readFileSync(path)),
      fileOf("etc/nsswitch.conf", Buffer.from(NSSWITCH)),
      ...librariesOf(path).map((library) => fileOf(library.slice(1), readFileSync(library))),
      ...(more.directories ?? []).map((directory): TarEntry => ({
        type: "directory",
        path: directory.slice(1),
        mode: 0o755,
      })),
    ],
  };
}

function fileOf(path: string, data: Uint8Array): TarEntry {
  return { type: "file", path, mode: 0o755, data };
}

/** Absolute paths, the loader among them; none = the program is static. */
function librariesOf(path: string): readonly string[] {
  const { stdout } = runSync(["ldd", path]);
  return [...stdout.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x/gm)].flatMap(
    ([, library = ""]) => library,
  );
}
