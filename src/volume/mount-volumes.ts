// Prepares the volumes of a pod on the host and clears them away afterwards. Synchronous: a crash falls
// between two calls, and every call may be repeated. kubelet: volume manager

import type { EmptyDirVolume, HostPathVolume, Pod, PodUID } from "../api/pod.ts";
import { parseQuantity, wholeUnits } from "../api/quantity.ts";
import type { Files } from "../host/files.ts";
import type { Mounts } from "../host/mounts.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import { foundOf, hostPathAction } from "./host-path.ts";
import {
  emptyDirPath,
  emptyDirsDirectory,
  isPodUID,
  podDirectory,
  podsDirectory,
} from "./volume-paths.ts";

export interface VolumesOptions {
  readonly files: Files;
  readonly mounts: Mounts;
  readonly stateDir: string;
}

const POD_DIRECTORY_MODE = 0o750;
/** Any user of any container of the pod may write. */
const EMPTY_DIR_MODE = 0o777;
const CREATED_DIRECTORY_MODE = 0o755;
const CREATED_FILE_MODE = 0o644;

export class Volumes {
  readonly #options: VolumesOptions;

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  /** Volume name → path on the host. Repeating it changes nothing. Throws AgentError `FailedMount`. */
  setUp(pod: Pod): ReadonlyMap<string, string> {
    const paths = new Map<string, string>();
    for (const volume of pod.spec.volumes) {
      try {
        const path =
          "hostPath" in volume ? this.#hostPath(volume) : this.#emptyDir(volume, pod.metadata.uid);
        paths.set(volume.name, path);
      } catch (cause) {
        const message = `volume "${volume.name}": ${messageOf(cause)}`;
        throw new AgentError({ reason: "FailedMount", message, cause });
      }
    }
    return paths;
  }

  /**
   * Removes everything of the pod below stateDir; nothing there = fine. What is mounted there is
   * unmounted, never emptied. Throws AgentError when something is in the way.
   */
  tearDown(uid: PodUID): void {
    const { files, mounts, stateDir } = this.#options;
    const directory = podDirectory(stateDir, uid);
    if (files.info(directory) === undefined) return;
    // Several rounds: one may have been mounted over another.
    for (let round = 0; round < 8; round += 1) {
      const mounted = mounts.mountsUnder(directory);
      if (mounted.length === 0) break;
      for (const path of mounted) mounts.unmount(path);
    }
    const [left] = mounts.mountsUnder(directory);
    if (left !== undefined) {
      const message = `cannot clear ${directory}: ${left} is still mounted`;
      throw new AgentError({ reason: "FailedUnmount", message });
    }
    files.removeTree(directory);
  }

  /** The UIDs of all pods that have something below stateDir. */
  leftovers(): readonly PodUID[] {
    const { files, stateDir } = this.#options;
    const directory = podsDirectory(stateDir);
    if (files.info(directory) === undefined) return [];
    return files
      .list(directory)
      .filter(({ kind, name }) => kind === "directory" && isPodUID(name))
      .map(({ name }) => name);
  }

  #hostPath({ hostPath: { path, type } }: HostPathVolume): string {
    const { files } = this.#options;
    // Without a type nothing is looked at: the path may lie on a file system that hangs.
    // A link to nothing is something: creating would replace it.
    const found = type === "" ? undefined : foundOf(files.target(path) ?? files.info(path));
    const action = hostPathAction(path, type, found);
    switch (action.type) {
      case "Use":
        return path;
      case "CreateDirectory":
        files.makeDirectory(path, CREATED_DIRECTORY_MODE);
        return path;
      case "CreateFile":
        files.writeAtomic(path, "", CREATED_FILE_MODE);
        return path;
      case "Refuse":
        throw new AgentError({ reason: "FailedMount", message: action.message });
    }
  }

  #emptyDir({ name, emptyDir }: EmptyDirVolume, uid: PodUID): string {
    const { files, mounts, stateDir } = this.#options;
    const path = emptyDirPath(stateDir, uid, name);
    if (files.info(path)?.kind !== "directory") this.#makeEmptyDir(path, uid, name);
    if (emptyDir.medium === "Memory" && !mounts.isMountPoint(path))
      mounts.tmpfs(path, { mode: EMPTY_DIR_MODE, ...sizeOf(emptyDir.sizeLimit) });
    return path;
  }

  // Under its own name a directory is finished: later a container may change its mode, and keeps it.
  #makeEmptyDir(path: string, uid: PodUID, name: string): void {
    const { files, stateDir } = this.#options;
    files.makeDirectory(podDirectory(stateDir, uid), POD_DIRECTORY_MODE);
    const unfinished = `${emptyDirsDirectory(stateDir, uid)}/.${name}.new`;
    files.makeDirectory(unfinished, EMPTY_DIR_MODE);
    files.setMode(unfinished, EMPTY_DIR_MODE);
    files.rename(unfinished, path);
  }
}

function sizeOf(limit: string | undefined): { readonly sizeBytes?: number } {
  const milli = limit === undefined ? undefined : parseQuantity(limit);
  // For the kernel a tmpfs of size 0 is one without a limit, and so it is for Kubernetes.
  if (milli === undefined || milli <= 0n) return {};
  return { sizeBytes: Number(wholeUnits(milli)) };
}
