// Wires the images to the pods: what is said about an image becomes events of the container that wants it.

import { containerEvent, podEvent, type RecordEvent } from "../api/events.ts";
import type { LocalObjects } from "../api/local-object.ts";
import type { Pod } from "../api/pod.ts";
import { ImagePuller } from "../image/image-puller.ts";
import type { ImageReference } from "../image/image-reference.ts";
import { credentialsFor, pullSecretsOf, type PullCredentials } from "../image/pull-secrets.ts";
import type { EnsureImage } from "../runtime/action-input.ts";
import type { Edges } from "./edges.ts";

export interface ImagesOptions {
  readonly edges: Pick<Edges, "cri" | "clock" | "random" | "log">;
  readonly record: RecordEvent;
  /** What the pod may read. */
  readonly objects: (pod: Pod) => LocalObjects;
}

export function imageEnsurer({ edges, record, objects }: ImagesOptions): EnsureImage {
  const { cri, clock, random, log } = edges;
  const puller = new ImagePuller({ cri, clock, random, log });
  const credentials = (pod: Pod, reference: ImageReference): readonly PullCredentials[] => {
    const { secrets, unusable } = pullSecretsOf(pod, objects(pod));
    if (unusable.length > 0) {
      const message = `Unable to retrieve some image pull secrets (${unusable.join(", ")}); attempting to pull the image may not succeed.`;
      const said = { type: "Warning", reason: "FailedToRetrieveImagePullSecret", message } as const;
      record(podEvent(pod.metadata, said));
    }
    return credentialsFor(reference, secrets);
  };
  return async (pod, { name, image, imagePullPolicy }, signal) => {
    const { imageRef, uid, username } = await puller.ensure(image, imagePullPolicy, {
      signal,
      record: (said) => record(containerEvent(pod, name, said)),
      credentials: (reference) => credentials(pod, reference),
    });
    return { ref: imageRef, username, ...(uid === undefined ? {} : { uid }) };
  };
}
