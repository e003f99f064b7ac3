// The arm64 binary on a machine of another kind: the kernel hands files of one name extension to an emulator, so that the
// agent can also start its own helper processes.

import { copyFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { runSync } from "./run-command.ts";
import type { Unavailable } from "./private-containerd.ts";
import type { TempDirectory } from "./temp-directory.ts";

const BINARY = resolve(import.meta.dir, "../../dist/agent-linux-arm64");
const EMULATOR = "qemu-aarch64-static";

export interface ForeignBinary extends Disposable {
  /** Runs like any program of this machine until it is disposed. */
  readonly path: string;
}

/** `ARM64_LIBRARIES`: a directory with arm64's libc and libstdc++, made by ./build.sh test. */
export function arm64Binary(temp: TempDirectory): ForeignBinary | Unavailable {
  const libraries = process.env["ARM64_LIBRARIES"] ?? "";
  const emulator = Bun.which(EMULATOR);
  if (process.arch === "arm64") return { unavailable: "this machine is arm64 itself" };
  if (emulator === null || libraries === "")
    return { unavailable: `no ${EMULATOR} with arm64 libraries (./build.sh test fetches them)` };
  if (!existsSync(BINARY)) return { unavailable: `${BINARY} is not built` };
  const directory = temp.directory("arm64");
  const registry = join(directory, "binfmt");
  temp.directory("arm64/binfmt");
  if (runSync(["mount", "-t", "binfmt_misc", "none", registry]).code !== 0)
    return { unavailable: "this kernel has no binfmt_misc" };
  // Of this run alone: other arm64 programs of the machine are not touched.
  const id = temp.path.slice(temp.path.lastIndexOf("-") + 1);
  const path = join(directory, `agent.agt${id}`);
  const interpreter = join(directory, "emulate");
  copyFileSync(BINARY, path);
  const script = `#!/bin/sh\nexec '${emulator}' -L '${libraries}' "$@"\n`;
  writeFileSync(interpreter, script, { mode: 0o755 });
  writeFileSync(join(registry, "register"), `:agt-${id}:E::agt${id}::${interpreter}:`);
  const dispose = (): void => {
    if (existsSync(join(registry, `agt-${id}`))) writeFileSync(join(registry, `agt-${id}`), "-1");
    runSync(["umount", registry]);
    rmSync(path, { force: true });
  };
  return { path, [Symbol.dispose]: dispose };
}
