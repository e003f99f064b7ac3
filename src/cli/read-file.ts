// Performs: reads a file named on the command line: a regular one within the size limit.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { FILE_LIMITS } from "../api/yaml/text-limits.ts";
import { compareText } from "../lib/compare.ts";
import { errorCode, messageOf } from "../lib/errors.ts";
import { grouped } from "../lib/short-text.ts";
import { MANIFEST_NAME } from "../source/file/manifest-entry.ts";
import { UsageError } from "./exit-codes.ts";
import type { Terminal } from "./process-io.ts";

export type ReadFile =
  { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly why: string };

/** The bytes of `path`, or why there are none; symbolic links are followed. */
export function readFile(path: string): ReadFile {
  try {
    const info = statSync(path);
    if (!info.isFile()) return { ok: false, why: "it is not a regular file" };
    if (info.size > FILE_LIMITS.bytes) return { ok: false, why: tooBig(info.size) };
    return { ok: true, bytes: readFileSync(path) };
  } catch (thrown) {
    return { ok: false, why: reading(thrown) };
  }
}

/** The bytes of `path`. Throws UsageError. */
export function readNamedFile(path: string): Uint8Array {
  const read = readFile(path);
  if (read.ok) return read.bytes;
  throw new UsageError(`cannot read ${path}: ${read.why}`);
}

export interface ReadInput {
  /** As errors call it. */
  readonly file: string;
  readonly bytes: Uint8Array;
}

/** What a person named: a file, or `-` for standard input. Throws UsageError. */
export async function readNamedInput(
  path: string,
  terminal: Pick<Terminal, "readInput">,
): Promise<ReadInput> {
  if (path !== "-") return { file: path, bytes: readNamedFile(path) };
  const bytes = await terminal.readInput();
  if (bytes.length <= FILE_LIMITS.bytes) return { file: "stdin", bytes };
  throw new UsageError(`cannot read standard input: ${tooBig(bytes.length)}`);
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The paths of the manifests in a directory, sorted; with `isRecursive` also in those below, where links are not followed. */
export function manifestsIn(directory: string, isRecursive: boolean): readonly string[] {
  return readdirSync(directory, { withFileTypes: true })
    .toSorted((a, b) => compareText(a.name, b.name))
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) return isRecursive ? manifestsIn(path, isRecursive) : [];
      return MANIFEST_NAME.test(entry.name) ? [path] : [];
    });
}

function tooBig(bytes: number): string {
  return `it has ${grouped(bytes)} bytes, at most ${grouped(FILE_LIMITS.bytes)}`;
}

function reading(thrown: unknown): string {
  const code = errorCode(thrown);
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES") return "permission denied; try again with sudo";
  return code === "" ? messageOf(thrown) : code;
}
