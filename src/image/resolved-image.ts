// Which image the name in a pod's spec stands for: what it was resolved to first counts for the whole life of the pod, so that
// a restart never brings other content because a tag has moved.

import { newestContainer, type ObservedPod } from "../api/pod/observed-pod.ts";
import { allContainers, type Pod } from "../api/v1/pod.ts";
import type { Container } from "../api/v1/container.ts";

export interface ResolvingFacts {
  /** Containers of this UID, which is a hash of the spec: none is of another revision. */
  readonly observed: ObservedPod | undefined;
  readonly isOfFile: boolean;
}

/** The runtime's name of the image; undefined = it has yet to be resolved, or is resolved at each start. */
export function resolvedImage(
  { spec }: Pod,
  { name, image, imagePullPolicy }: Container,
  { observed, isOfFile }: ResolvingFacts,
): string | undefined {
  // As in the kubelet. Of documents a revision is judged, and its content must be what was judged.
  if (isOfFile && imagePullPolicy === "Always") return undefined;
  const same = allContainers(spec).filter((one) => one.image === image);
  const own = same.filter((one) => one.name === name);
  for (const one of [...own, ...same]) {
    const { imageID = "" } = newestContainer(observed, one.name) ?? {};
    if (imageID !== "") return imageID;
  }
  return undefined;
}
