// Performs: the directory of a pod, and the mounts below it.

import { POD_DIRECTORY_MODE, podDirectory } from "../api/pod/pod-directory.ts";
import type { Edges } from "../edges.ts";

export interface VolumeHost extends Pick<Edges, "files" | "mounts"> {
  readonly stateDir: string;
}

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

/** `<stateDir>/pods/<uid>/volumes/kubernetes.io~empty-dir`, as in the kubelet. */
export function emptyDirsDirectory(stateDir: string, uid: string): string {
  return `${podDirectory(stateDir, uid)}/volumes/kubernetes.io~empty-dir`;
}

export function emptyDirPath(stateDir: string, uid: string, volume: string): string {
  return `${emptyDirsDirectory(stateDir, uid)}/${volume}`;
}

/** `<stateDir>/pods/<uid>/volumes/content`: the volumes that the agent fills, by their names. */
export function contentDirectory(stateDir: string, uid: string): string {
  return `${podDirectory(stateDir, uid)}/volumes/content`;
}

/** This file exists once the claim of this volume was given to the pod's group. */
export function sharedMarkPath(stateDir: string, uid: string, volume: string): string {
  return `${podDirectory(stateDir, uid)}/shared-claims/${volume}`;
}

/** `<stateDir>/pods/<uid>/volume-subpaths`: the parts of volumes that containers mount. */
export function partsDirectory(stateDir: string, uid: string): string {
  return `${podDirectory(stateDir, uid)}/volume-subpaths`;
}

/** `<stateDir>/pods/<uid>/volume-subpaths/<volume>/<container>` */
export function subPathsDirectory(
  stateDir: string,
  uid: string,
  of: { readonly volumeName: string; readonly container: string },
): string {
  return `${partsDirectory(stateDir, uid)}/${of.volumeName}/${of.container}`;
}
