// All container statuses of a pod, those of init containers first.

import type { ContainerStatus, PodStatus } from "./pod-status.ts";

/** undefined = nothing is known of it yet. */
export function allStatuses(
  status: Pick<PodStatus, "initContainerStatuses" | "containerStatuses"> | undefined,
): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}
