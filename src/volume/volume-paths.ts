// Where the volumes of a pod lie; the kubelet's own layout below stateDir.

import { AgentError } from "../lib/errors.ts";

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

export function emptyDirsDirectory(stateDir: string, uid: string): string {
  return `${podDirectory(stateDir, uid)}/volumes/kubernetes.io~empty-dir`;
}

/** `<stateDir>/pods/<uid>/volumes/kubernetes.io~empty-dir/<volume>` */
export function emptyDirPath(stateDir: string, uid: string, volume: string): string {
  return `${emptyDirsDirectory(stateDir, uid)}/${volume}`;
}

/** Ours are UUIDs; a label that somebody forged must not become a path elsewhere. */
export function isPodUID(text: string): boolean {
  return /^[0-9A-Za-z][0-9A-Za-z-]{0,127}$/.test(text);
}
