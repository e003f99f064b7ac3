// Performs: brings the image of a container to the node, with the pod's credentials, events and pinned image, and notes
// the result.

import { containerEvent, podEvent, type RecordEvent } from "../api/v1/events.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import { pullsStrictly } from "../api/pod/pod-annotations.ts";
import { findContainer, type Pod, type PodUID } from "../api/v1/pod.ts";
import { ImagePuller, type ImagePullerOptions } from "./image-puller.ts";
import type { ImageReference } from "./image-reference.ts";
import {
  credentialsFor,
  pullSecretsOf,
  unusableSecrets,
  type PullCredentials,
} from "./pull-secrets.ts";
import type { EnsureImage } from "../runtime/decide/action-input.ts";
import type { ImageLedger } from "./pull-results.ts";

export interface ImagesOptions {
  readonly edges: ImagePullerOptions;
  readonly record: RecordEvent;
  /** What the pod may read. */
  readonly objects: (pod: Pod) => LocalObjects;
  /** Whether the pod comes from a file. */
  readonly isOfFile: (pod: Pod) => boolean;
  /** The runtime's name of the image that this container must run, and no other; undefined = as in its spec. */
  readonly pinned: (uid: PodUID, container: string) => string | undefined;
  readonly ledger: ImageLedger;
}

export function imageEnsurer(options: ImagesOptions): EnsureImage {
  const { edges, record, objects, ledger, isOfFile } = options;
  const puller = new ImagePuller(edges);
  const credentials = (pod: Pod, reference: ImageReference): readonly PullCredentials[] => {
    const { secrets, unusable } = pullSecretsOf(pod, objects(pod));
    if (unusable.length > 0) record(podEvent(pod.metadata, unusableSecrets(unusable)));
    return credentialsFor(reference, secrets);
  };
  const ensure: EnsureImage = async (pod, { name, image, imagePullPolicy }, signal) => {
    const ref = pinnedImage({ pod, name, image }, options);
    // A pinned image that was removed since is pulled by its name.
    const here = ref === undefined ? undefined : await puller.local(ref, signal);
    if (here !== undefined) return here;
    return puller.ensure(image, imagePullPolicy, {
      signal,
      isStrict: pullsStrictly(pod),
      isOfFile: isOfFile(pod),
      record: (event) => record(containerEvent(pod, name, event)),
      credentials: (reference) => credentials(pod, reference),
    });
  };
  return async (pod, wanted, signal) => {
    const { uid } = pod.metadata;
    try {
      const image = await ensure(pod, wanted, signal);
      ledger.here(uid, wanted.image);
      return image;
    } catch (error) {
      if (!signal.aborted) ledger.failed(uid, wanted.image, error);
      throw error;
    }
  };
}

/** Only for a container's own image, not for one that it mounts. */
function pinnedImage(
  wanted: { readonly pod: Pod; readonly name: string; readonly image: string },
  { pinned }: ImagesOptions,
): string | undefined {
  const { metadata, spec } = wanted.pod;
  const own = findContainer(spec, wanted.name);
  return own?.image === wanted.image ? pinned(metadata.uid, wanted.name) : undefined;
}
