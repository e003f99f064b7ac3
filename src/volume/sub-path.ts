// Performs: bind mounts a path inside a volume for one container, without following a link out of the volume: later
// changes by a pod cannot redirect it. kubelet: subpath

import type { SubPath } from "../api/v1/volume-mounts.ts";
import { configError, messageOf } from "../lib/errors.ts";
import { unmountAll } from "./tear-down.ts";
import { makePodDirectory, subPathsDirectory, type VolumeHost } from "./volume-paths.ts";

export interface SubPathRequest extends SubPath {
  /** The volume itself is read-only (`isReadOnlyVolume`), not only the mount: missing directories are not created. */
  readonly readOnly: boolean;
}

/**
 * Returns the path on the host to mount instead of the volume. Each call resolves the path again; a running container
 * keeps its mount. Throws AgentError `CreateContainerConfigError`. `Volumes.tearDown` removes it.
 */
export function prepareSubPath(host: VolumeHost, request: SubPathRequest): string {
  try {
    return bindSubPath(host, request);
  } catch (cause) {
    const { volumeName, container } = request;
    const message = `failed to prepare subPath for volumeMount "${volumeName}" of container "${container}": ${messageOf(cause)}`;
    throw configError(message, cause);
  }
}

function bindSubPath(host: VolumeHost, request: SubPathRequest): string {
  const { uid, index, subPath: path, volumePath: root, readOnly } = request;
  mustStayInside(path);
  const parent = subPathsDirectory(host.stateDir, uid, request);
  const target = `${parent}/${index}`;
  makePodDirectory(host, uid, parent);
  unmountAll(host, target);
  host.mounts.bindBeneath({ root, path, create: !readOnly, target });
  return target;
}

/** kubelet: makeMounts */
function mustStayInside(subPath: string): void {
  const refuse = (why: string): never => {
    throw configError(`subPath "${subPath}" ${why}`);
  };
  if (subPath.startsWith("/")) refuse("must not be an absolute path");
  if (subPath.split("/").includes("..")) refuse("must not contain '..'");
  if (subPath.includes("\0")) refuse("must not contain a NUL byte");
}
