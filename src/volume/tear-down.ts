// Performs: unmounts and removes the volumes of a pod, and lists the pods that have left some. kubelet: TearDown,
// cleanupOrphanedPodDirs

import { isPodUID, podDirectory, podsDirectory } from "../api/pod/pod-directory.ts";
import type { PodUID } from "../api/v1/pod.ts";
import { AgentError } from "../lib/errors.ts";
import type { VolumeHost } from "./volume-paths.ts";

/**
 * Removes everything of the pod below stateDir; a missing directory is ignored. Mounts there are unmounted, never
 * emptied. Throws AgentError when something cannot be removed.
 */
export function tearDown(host: VolumeHost, uid: PodUID): void {
  const { files, mounts, stateDir } = host;
  const directory = podDirectory(stateDir, uid);
  if (files.info(directory) === undefined) return;
  unmountAll(host, directory);
  const [left] = mounts.mountsUnder(directory);
  if (left !== undefined) {
    const message = `cannot clear ${directory}: ${left} is still mounted`;
    throw new AgentError({ reason: "FailedUnmount", message });
  }
  files.removeTree(directory);
}

/** The slow part of `tearDown`, in steps: a large emptyDir. `tearDown` reports problems. */
export function* emptyLargeVolumes(host: VolumeHost, uid: PodUID): Iterable<void> {
  const { files, mounts, stateDir } = host;
  const directory = podDirectory(stateDir, uid);
  if (files.info(directory) === undefined) return;
  unmountAll(host, directory);
  if (mounts.mountsUnder(directory).length === 0) yield* files.emptyLargeTree(directory);
}

/** The UIDs of all pods with a directory below stateDir. */
export function leftovers({ files, stateDir }: VolumeHost): readonly PodUID[] {
  const directory = podsDirectory(stateDir);
  if (files.info(directory) === undefined) return [];
  return files
    .list(directory)
    .filter(({ kind, name }) => kind === "directory" && isPodUID(name))
    .map(({ name }) => name);
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
