// Decides which container of a pod a request means. k8s: registry/core/pod streamLocation

import type { Container } from "../v1/container.ts";
import { allContainers, type Pod } from "../v1/pod.ts";

/** kubectl's: the container that is meant when none is named. */
export const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";

/** `name` undefined: the one that the annotation names, or the only one; undefined = there is no such container. */
export function selectedContainer(
  { metadata, spec }: Pod,
  name: string | undefined,
): Container | undefined {
  const all = allContainers(spec);
  if (name !== undefined) return all.find((one) => one.name === name);
  const annotated = metadata.annotations[DEFAULT_CONTAINER];
  const preferred = all.find((one) => one.name === annotated);
  return preferred ?? (spec.containers.length === 1 ? spec.containers[0] : undefined);
}
