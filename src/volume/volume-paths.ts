// Performs: names the paths of volumes below the directory of their pod (api/pod/pod-directory.ts), and creates that one.

import { POD_DIRECTORY_MODE, podDirectory } from "../api/pod/pod-directory.ts";
import type { Edges } from "../edges.ts";

export interface VolumeHost extends Pick<Edges, "files" | "mounts"> {
  readonly stateDir: string;
}

/** Also creates `inside`, a directory of the pod's that only root may enter. */
export function makePodDirectory(host: VolumeHost, uid: string, inside?: string): void {
  host.files.makeDirectory(podDirectory(host.stateDir, uid), POD_DIRECTORY_MODE);
  if (inside !== undefined) host.files.makeDirectory(inside, POD_DIRECTORY_MODE);
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

/** `<stateDir>/pods/<uid>/volumes/kubernetes.io~host-path`: hostPaths that are held by a mount, by their volumes. */
export function heldPathsDirectory(stateDir: string, uid: string): string {
  return `${podDirectory(stateDir, uid)}/volumes/kubernetes.io~host-path`;
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
