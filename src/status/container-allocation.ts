// What a container was given, beside its state: resources, user, mounts. kubelet: convertToAPIContainerStatuses

import type { ObservedContainer } from "../api/pod/observed-pod.ts";
import type { ContainerStatus, VolumeMountStatus } from "../api/v1/pod-status.ts";
import type { Container } from "../api/v1/container.ts";
import type { VolumeMount } from "../api/v1/volume-mounts.ts";

type Allocation = Pick<ContainerStatus, "allocatedResources" | "resources" | "user">;
type Mounted = Pick<ContainerStatus, "volumeMounts">;

/**
 * Of an instance in the runtime. A container that runs is never resized here, so its resources are those of its spec, with
 * the requests that follow from its limits.
 */
export function allocationOf(
  { resources: { limits, requests } }: Container,
  { user }: ObservedContainer,
): Allocation {
  const asked = Object.keys(requests).length > 0;
  return {
    ...(asked ? { allocatedResources: requests } : {}),
    resources: {
      ...(Object.keys(limits).length > 0 ? { limits } : {}),
      ...(asked ? { requests } : {}),
    },
    ...(user === undefined ? {} : { user: { linux: user } }),
  };
}

/** `instance` undefined = the runtime has none yet. The runtime does not know the names of volumes, the spec does. */
export function volumeMountsOf(
  { volumeMounts }: Container,
  instance: ObservedContainer | undefined,
): Mounted {
  if (volumeMounts.length === 0) return {};
  return { volumeMounts: volumeMounts.map((mount) => mountStatus(mount, instance)) };
}

function mountStatus(
  mount: VolumeMount,
  instance: ObservedContainer | undefined,
): VolumeMountStatus {
  const { name, mountPath } = mount;
  if (!mount.readOnly) return { name, mountPath };
  const recursiveReadOnly = recursion(mount, instance);
  return {
    name,
    mountPath,
    readOnly: true,
    ...(recursiveReadOnly === undefined ? {} : { recursiveReadOnly }),
  };
}

/** undefined = what `IfPossible` comes to is not known yet. kubelet: resolveRecursiveReadOnly */
function recursion(
  { mountPath, recursiveReadOnly }: VolumeMount,
  instance: ObservedContainer | undefined,
): VolumeMountStatus["recursiveReadOnly"] {
  if (recursiveReadOnly !== "IfPossible") return recursiveReadOnly ?? "Disabled";
  if (instance === undefined) return undefined;
  return instance.recursiveReadOnly?.includes(mountPath) === true ? "Enabled" : "Disabled";
}
