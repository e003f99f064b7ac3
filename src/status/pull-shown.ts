// Shows on a pod how far the images are that its containers wait for. It is not part of the status that is kept and
// reported: it changes every few seconds.

import type { ContainerStatus, PodStatus } from "../api/v1/pod-status.ts";
import { findContainer, type Pod } from "../api/v1/pod.ts";

const WAITING: readonly string[] = [
  "ContainerCreating",
  "PodInitializing",
  "ErrImagePull",
  "ImagePullBackOff",
];

/** `bytesOf`: of the image as the pod names it, as text; undefined = it is not pulled now. */
export function withPulls(
  status: PodStatus,
  { spec }: Pod,
  bytesOf: (image: string) => string | undefined,
): PodStatus {
  const shown = (one: ContainerStatus): ContainerStatus => {
    const { waiting } = one.state;
    if (waiting === undefined || !WAITING.includes(waiting.reason)) return one;
    const image = findContainer(spec, one.name)?.image ?? "";
    const bytes = bytesOf(image);
    if (bytes === undefined) return one;
    const message = `pulling image "${image}": ${bytes}`;
    return { ...one, state: { waiting: { ...waiting, message } } };
  };
  return {
    ...status,
    initContainerStatuses: status.initContainerStatuses.map(shown),
    containerStatuses: status.containerStatuses.map(shown),
  };
}
