// Performs: unpacks SQLite's native addon to a verified copy in stateDir, not to a temporary directory: a full,
// read-only or noexec /tmp, or a file torn by a power cut, must not prevent the start.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { addonPath } from "#sqlite-addon";
import { AgentError, messageOf } from "../../lib/errors.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import type { PlainFiles } from "../../lib/files/plain-files.ts";

const PREFIX = "better-sqlite3-";
/** Larger than any addon; bounds what a verification reads. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Path of the unpacked addon, to be passed as `nativeBinding`: `stateDir/lib/better-sqlite3-<sha256>.node`, for
 * root only. A torn or changed copy is rewritten, copies of other versions are removed.
 * Throws AgentError `SqliteAddonUnusable`.
 */
export function unpackAddon(stateDir: string, files: PlainFiles): string {
  const directory = join(stateDir, "lib");
  try {
    const bytes = readFileSync(addonPath);
    const name = `${PREFIX}${sha256(bytes)}.node`;
    const path = join(directory, name);
    files.makeDirectory(directory, 0o700);
    files.setMode(directory, 0o700);
    if (!holds(files, path, bytes)) files.writeAtomic(path, bytes, 0o600);
    removeOthers(files, directory, name);
    return path;
  } catch (cause) {
    throw new AgentError({
      reason: "SqliteAddonUnusable",
      message: `cannot unpack the SQLite addon to ${directory}: ${messageOf(cause)}`,
      cause,
    });
  }
}

/** The same without a change of stateDir, where another version may run: an addon that is not there is unpacked to `spare`. */
export function borrowAddon(
  stateDir: string,
  { files, spare }: { readonly files: PlainFiles; readonly spare: () => string },
): string {
  const bytes = readFileSync(addonPath);
  const name = `${PREFIX}${sha256(bytes)}.node`;
  const kept = join(stateDir, "lib", name);
  if (holds(files, kept, bytes)) return kept;
  const path = join(spare(), name);
  files.writeAtomic(path, bytes, 0o600);
  return path;
}

function holds(files: PlainFiles, path: string, bytes: Uint8Array): boolean {
  if (files.info(path)?.kind !== "file") return false;
  try {
    return Buffer.compare(files.read(path, MAX_BYTES), bytes) === 0;
  } catch {
    // An unreadable copy is rewritten; if that fails too, the error is thrown.
    return false;
  }
}

function removeOthers(files: PlainFiles, directory: string, keep: string): void {
  for (const { name } of files.list(directory)) {
    if (name !== keep && name.includes(PREFIX)) files.remove(join(directory, name));
  }
}

/** Adds the remedy to a failure to load the addon. */
export function addonLoadError(cause: unknown, path: string): AgentError {
  const why = messageOf(cause);
  return new AgentError({
    reason: "SqliteAddonUnusable",
    message: `cannot load the SQLite addon ${path}: ${remedy(why)} (${why})`,
    cause,
  });
}

function remedy(why: string): string {
  if (/libstdc\+\+\.so\.6: cannot open/.test(why))
    return "libstdc++.so.6 is missing, install it (Debian: apt-get install libstdc++6)";
  if (/GLIBC_|GLIBCXX_|CXXABI_/.test(why))
    return "this system's C library is too old, the agent needs glibc 2.34 or later (Debian 12, Ubuntu 22.04)";
  if (/failed to map segment|Operation not permitted/.test(why))
    return "stateDir is on a file system mounted noexec, mount it with exec or set another stateDir";
  return "the system's loader refuses it";
}
