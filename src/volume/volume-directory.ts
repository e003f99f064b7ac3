// Makes the directory of a volume so that under its own name it is finished: what a container does to it later stays.

import type { Files } from "../host/files.ts";
import type { Mounts } from "../host/mounts.ts";
import { podDirectory, volumesDirectory, type VolumePlugin } from "./volume-paths.ts";

/** What volumes are made with. */
export interface VolumeHost {
  readonly files: Files;
  readonly mounts: Mounts;
  readonly stateDir: string;
}

export interface VolumeDirectory {
  readonly uid: string;
  readonly plugin: VolumePlugin;
  readonly name: string;
  readonly mode: number;
  /** Absent = root's. */
  readonly group?: number;
  /** The group may not write. */
  readonly readOnly: boolean;
}

/** Nobody but root gets past these. */
const POD_DIRECTORY_MODE = 0o750;

/** What is there stays as it is. */
export function makeVolumeDirectory(host: VolumeHost, volume: VolumeDirectory): string {
  const { files, stateDir } = host;
  const { uid, plugin, name, mode, group, readOnly } = volume;
  const parent = volumesDirectory(stateDir, uid, plugin);
  const path = `${parent}/${name}`;
  if (files.info(path)?.kind === "directory") return path;
  makePodDirectory(host, uid);
  files.makeDirectory(parent, plugin === "kubernetes.io~secret" ? 0o700 : POD_DIRECTORY_MODE);
  const unfinished = `${parent}/.${name}.new`;
  files.makeDirectory(unfinished, mode);
  files.setMode(unfinished, mode);
  if (group !== undefined) files.shareTree(unfinished, { group, readOnly, unlessRootFits: false });
  files.rename(unfinished, path);
  return path;
}

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
