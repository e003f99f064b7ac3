// Performs: the directory of a pod, and what may be mounted below it.

import type { Files } from "../host/files.ts";
import type { Mounts } from "../host/mounts.ts";
import { podDirectory } from "./volume-paths.ts";

/** What volumes are made with. */
export interface VolumeHost {
  readonly files: Files;
  readonly mounts: Mounts;
  readonly stateDir: string;
}

/** Nobody but root gets past it. */
export const POD_DIRECTORY_MODE = 0o750;

export function makePodDirectory({ files, stateDir }: VolumeHost, uid: string): void {
  files.makeDirectory(podDirectory(stateDir, uid), POD_DIRECTORY_MODE);
}

/** Unmounts everything below a directory and, if it is one, the mount on itself; a mount that stays is an error of the caller's. */
export function unmountAll({ mounts }: Pick<VolumeHost, "mounts">, directory: string): void {
  // Several rounds: one may have been mounted over another.
  for (let round = 0; round < 8; round += 1) {
    const own = mounts.isMountPoint(directory) ? [directory] : [];
    const mounted = [...mounts.mountsUnder(directory), ...own];
    if (mounted.length === 0) return;
    // All of them before any is unmounted: what is seen inside a bind mount may be the host's own mount.
    for (const path of mounted) mounts.makePrivate(path);
    for (const path of mounted) mounts.unmount(path);
  }
}
