// Wires the images to the pods: what is said about an image becomes events of the container that wants it.

import { containerEvent, type RecordEvent } from "../api/events.ts";
import { ImagePuller } from "../image/image-puller.ts";
import type { EnsureImage } from "../runtime/action-input.ts";
import type { Edges } from "./edges.ts";

export interface ImagesOptions {
  readonly edges: Pick<Edges, "cri" | "clock" | "random" | "log">;
  readonly record: RecordEvent;
}

export function imageEnsurer({ edges, record }: ImagesOptions): EnsureImage {
  const { cri, clock, random, log } = edges;
  const puller = new ImagePuller({ cri, clock, random, log });
  return async (pod, { name, image, imagePullPolicy }, signal) => {
    const { imageRef } = await puller.ensure(image, imagePullPolicy, {
      signal,
      record: (said) => record(containerEvent(pod, name, said)),
    });
    return imageRef;
  };
}
