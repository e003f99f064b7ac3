// Which images a container mounts, beside the one that it runs.

import type { Pod } from "../../api/v1/pod.ts";
import type { Container } from "../../api/v1/container.ts";

/** Volume name → the container as if it ran the image of that volume: so it is fetched, and told of. */
export function volumeImages({ spec }: Pod, container: Container): ReadonlyMap<string, Container> {
  const mounted = new Set(container.volumeMounts.map(({ name }) => name));
  return new Map(
    spec.volumes.flatMap((volume) => {
      if (!("image" in volume) || !mounted.has(volume.name)) return [];
      const { reference: image, pullPolicy: imagePullPolicy } = volume.image;
      return [[volume.name, { ...container, image, imagePullPolicy }] as const];
    }),
  );
}
