// Where the volumes of a pod lie; the kubelet's own layout below stateDir.

import { AgentError } from "../lib/errors.ts";
import type { ContentVolume } from "./volume-kinds.ts";

/** The kubelet's names for what makes a volume. */
export type VolumePlugin =
  | "kubernetes.io~empty-dir"
  | "kubernetes.io~configmap"
  | "kubernetes.io~secret"
  | "kubernetes.io~downward-api"
  | "kubernetes.io~projected";

export function podsDirectory(stateDir: string): string {
  return `${stateDir.replace(/\/+$/, "")}/pods`;
}

/** Everything of one pod. Throws AgentError `InvalidUID` for what could lead anywhere else. */
export function podDirectory(stateDir: string, uid: string): string {
  if (!isPodUID(uid)) {
    const message = `"${uid}" is not a pod's UID: only letters, digits and dashes are`;
    throw new AgentError({ reason: "InvalidUID", message });
  }
  return `${podsDirectory(stateDir)}/${uid}`;
}

/** `<stateDir>/pods/<uid>/volumes/<plugin>`: the volumes of one kind. */
export function volumesDirectory(stateDir: string, uid: string, plugin: VolumePlugin): string {
  return `${podDirectory(stateDir, uid)}/volumes/${plugin}`;
}

/** `<stateDir>/pods/<uid>/volumes/kubernetes.io~empty-dir/<volume>` */
export function emptyDirPath(stateDir: string, uid: string, volume: string): string {
  return `${volumesDirectory(stateDir, uid, "kubernetes.io~empty-dir")}/${volume}`;
}

export function contentPath(stateDir: string, uid: string, volume: ContentVolume): string {
  return `${volumesDirectory(stateDir, uid, pluginOf(volume))}/${volume.name}`;
}

export function pluginOf(volume: ContentVolume): VolumePlugin {
  if ("configMap" in volume) return "kubernetes.io~configmap";
  if ("secret" in volume) return "kubernetes.io~secret";
  return "downwardAPI" in volume ? "kubernetes.io~downward-api" : "kubernetes.io~projected";
}

/** There = the claim behind this volume has been given to the pod's group. */
export function sharedMarkPath(stateDir: string, uid: string, volume: string): string {
  return `${podDirectory(stateDir, uid)}/shared-claims/${volume}`;
}

/** `<stateDir>/pods/<uid>/volume-subpaths/<volume>/<container>` */
export function subPathsDirectory(
  stateDir: string,
  uid: string,
  of: { readonly volumeName: string; readonly container: string },
): string {
  return `${podDirectory(stateDir, uid)}/volume-subpaths/${of.volumeName}/${of.container}`;
}

/** Ours are UUIDs; a label that somebody forged must not become a path elsewhere. */
export function isPodUID(text: string): boolean {
  return /^[0-9A-Za-z][0-9A-Za-z-]{0,127}$/.test(text);
}
