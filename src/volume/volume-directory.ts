// Performs: the directory of a pod, and the mounts below it.

import type { Files } from "../host/files.ts";
import type { Mounts } from "../host/mounts.ts";
import { podDirectory } from "./volume-paths.ts";

export interface VolumeHost {
  readonly files: Files;
  readonly mounts: Mounts;
  readonly stateDir: string;
}

/** Only root may enter. */
export const POD_DIRECTORY_MODE = 0o750;

export function makePodDirectory({ files, stateDir }: VolumeHost, uid: string): void {
  files.makeDirectory(podDirectory(stateDir, uid), POD_DIRECTORY_MODE);
}

/** Unmounts everything at and below a directory; the caller checks for mounts that are left. */
export function unmountAll({ mounts }: Pick<VolumeHost, "mounts">, directory: string): void {
  // Several rounds: mounts may be stacked.
  for (let round = 0; round < 8; round += 1) {
    const own = mounts.isMountPoint(directory) ? [directory] : [];
    const mounted = [...mounts.mountsUnder(directory), ...own];
    if (mounted.length === 0) return;
    // All are made private before any is unmounted: a mount inside a bind mount may be the host's own.
    for (const path of mounted) mounts.makePrivate(path);
    for (const path of mounted) mounts.unmount(path);
  }
}
