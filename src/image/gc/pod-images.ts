// Which images a pod needs: those of its containers, and those that it mounts.

import { allContainers, type Pod } from "../../api/v1/pod.ts";

export function podImages({ spec }: Pod): readonly string[] {
  const mounted = spec.volumes.flatMap((volume) =>
    "image" in volume ? [volume.image.reference] : [],
  );
  return [...allContainers(spec).map(({ image }) => image), ...mounted];
}
