// Performs: reads files of this machine for a bundle, without holding up the process where a file system hangs.

import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { FILE_LIMITS } from "../../api/yaml/text-limits.ts";
import { runPrograms } from "../../host/run-program.ts";
import { errorCode, messageOf, reasonOf } from "../../lib/errors.ts";
import { MANIFEST_NAME } from "../../source/file/manifest-entry.ts";
import { CliError } from "../exit-codes.ts";
import type { Terminal } from "../process-io.ts";

/** Of a file within the size of a manifest. Throws CliError, and what the file system throws. */
export async function textOfFile(path: string, maxBytes = FILE_LIMITS.bytes): Promise<string> {
  // A named pipe would wait for its writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw new CliError(`it has more than ${maxBytes} bytes`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

export interface ManifestPath {
  /** Without its directory. */
  readonly name: string;
  readonly path: string;
}

/** Of `staticPodPath`, which may be one file. */
export async function manifestPaths(staticPodPath: string): Promise<readonly ManifestPath[]> {
  if ((await lstat(staticPodPath)).isFile()) return [{ name: "manifest", path: staticPodPath }];
  const names = (await readdir(staticPodPath)).filter((name) => MANIFEST_NAME.test(name));
  return names.toSorted().map((name) => ({ name, path: join(staticPodPath, name) }));
}

const ALIVE_MS = 3_000;
const DEAD = "its file system does not answer";

/**
 * Those of the paths whose file system does not answer. Another process asks: a call that hangs would hold one of the few
 * threads on which this one reads files.
 */
export async function hungPaths(
  paths: readonly string[],
  { clock, environment }: Pick<Terminal, "clock" | "environment">,
): Promise<ReadonlySet<string>> {
  const run = runPrograms(clock);
  const { PATH = "/usr/bin:/bin" } = environment;
  const limits = { timeoutMs: ALIVE_MS, maxBytes: 65_536 };
  const never = new AbortController().signal;
  const hung = paths.map(async (path) => {
    const call = { path: "stat", args: ["--", path], env: { PATH }, stdin: "", ...limits };
    try {
      await run(call, never);
      return [];
    } catch (error) {
      // Without that program they are read as if they answered.
      return reasonOf(error, "") === "NoAnswer" ? [path] : [];
    }
  });
  return new Set((await Promise.all(hung)).flat());
}

/** Throws CliError if the path is one of those that do not answer. */
export function refuseHung(hung: ReadonlySet<string>, path: string): void {
  if (hung.has(path)) throw new CliError(DEAD);
}

export function whyNot(error: unknown): string {
  const code = errorCode(error);
  if (code === "ENOENT") return "there is no such file";
  return code === "" ? messageOf(error) : code;
}
