// Performs: bind mounts a path inside a volume for one container, without following a link out of the volume: later
// changes by a pod cannot redirect it. kubelet: subpath

import type { PodUID } from "../api/v1/pod.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import {
  POD_DIRECTORY_MODE,
  makePodDirectory,
  unmountAll,
  type VolumeHost,
  subPathsDirectory,
} from "./volume-directory.ts";

export interface SubPathRequest {
  readonly uid: PodUID;
  readonly container: string;
  /** Of the container's volumeMounts. */
  readonly index: number;
  readonly volumeName: string;
  /** The volume on the host. */
  readonly volumePath: string;
  /** Inside the volume; a `subPathExpr` is expanded already. */
  readonly subPath: string;
  /** The volume itself is read-only (`isReadOnlyVolume`), not only the mount: missing directories are not created. */
  readonly readOnly: boolean;
}

export class SubPaths {
  readonly #host: VolumeHost;

  constructor(host: VolumeHost) {
    this.#host = host;
  }

  /**
   * Returns the path on the host to mount instead of the volume. Each call resolves the path again; a running container
   * keeps its mount. Throws AgentError `CreateContainerConfigError`. `Volumes.tearDown` removes it.
   */
  prepare(request: SubPathRequest): string {
    try {
      return this.#prepare(request);
    } catch (cause) {
      const { volumeName, container } = request;
      const message = `failed to prepare subPath for volumeMount "${volumeName}" of container "${container}": ${messageOf(cause)}`;
      throw new AgentError({ reason: "CreateContainerConfigError", message, cause });
    }
  }

  #prepare(request: SubPathRequest): string {
    const { files, mounts, stateDir } = this.#host;
    const { uid, index, subPath } = request;
    mustStayInside(subPath);
    const parent = subPathsDirectory(stateDir, uid, request);
    const target = `${parent}/${index}`;
    makePodDirectory(this.#host, uid);
    files.makeDirectory(parent, POD_DIRECTORY_MODE);
    unmountAll(this.#host, target);
    mounts.bindBeneath({
      root: request.volumePath,
      path: subPath,
      create: !request.readOnly,
      target,
    });
    return target;
  }
}

/** kubelet: makeMounts */
function mustStayInside(subPath: string): void {
  const refuse = (why: string): never => {
    const message = `subPath "${subPath}" ${why}`;
    throw new AgentError({ reason: "CreateContainerConfigError", message });
  };
  if (subPath.startsWith("/")) refuse("must not be an absolute path");
  if (subPath.split("/").includes("..")) refuse("must not contain '..'");
  if (subPath.includes("\0")) refuse("must not contain a NUL byte");
}
