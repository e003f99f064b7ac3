// Performs: makes files and directories of the host where nothing is, through no symbolic link: whoever may write to a
// directory on the way can lead nobody elsewhere, and nothing that is there is changed.

import { closeSync, constants, fchmodSync, fstatSync, openSync } from "node:fs";
import { basename, dirname } from "node:path";
import { at, errorCode } from "./directory-fd.ts";
import { openBeneath } from "./open-beneath.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** An empty file. kubelet: makeFile, but for links */
export function createFile(path: string, mode: number): void {
  const parent = openPlace(dirname(path));
  try {
    createIn(parent, basename(path), mode);
  } finally {
    closeSync(parent);
  }
}

/** With every directory that is missing above it. kubelet: makeDir, but for links */
export function createDirectory(path: string, mode: number): void {
  closeSync(openPlace(path, mode));
}

/** `mode`: what is missing is made, with this mode. */
function openPlace(path: string, mode?: number): number {
  return openBeneath({
    root: "/",
    path: path.replace(/^\/+/, ""),
    create: mode !== undefined,
    refuseLinks: true,
    ...(mode === undefined ? {} : { mode }),
  });
}

function createIn(directory: number, name: string, mode: number): void {
  const fd = openNew(at(directory, Buffer.from(name)), mode);
  if (fd === undefined) return;
  try {
    // The umask has been at it.
    if ((fstatSync(fd).mode & 0o7777) !== mode) fchmodSync(fd, mode);
  } finally {
    closeSync(fd);
  }
}

/** undefined = something is there. */
function openNew(path: Buffer, mode: number): number | undefined {
  try {
    return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return undefined;
    throw error;
  }
}
