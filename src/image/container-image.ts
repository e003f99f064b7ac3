// Performs: brings the image of a container to the node, with the pod's credentials, events and pinned image, and notes
// the result.

import { containerEvent, podEvent, type RecordEvent } from "../api/v1/events.ts";
import type { PullLimits } from "../config/image-config.ts";
import type { ImageArchives } from "./archive/image-archives.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import { pullsStrictly } from "../api/pod/pod-annotations.ts";
import { findContainer, type Pod, type PodUID } from "../api/v1/pod.ts";
import type { Container } from "../api/v1/container.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { alreadyPresent } from "./image-events.ts";
import { resolvedImage } from "./resolved-image.ts";
import {
  ImagePuller,
  type EnsuredImage,
  type ImagePullerOptions,
  type PullAccess,
} from "./image-puller.ts";
import type { ImageReference } from "./image-reference.ts";
import { credentialsFor } from "./keyring.ts";
import { NodeCredentials, type NodeCredentialsOptions } from "./node-credentials.ts";
import { authsOfSecrets, pullSecretsOf, unusableSecrets } from "./pull-secrets.ts";
import type { Monotonic } from "../lib/clock.ts";
import { AgentError } from "../lib/errors.ts";
import type { EnsureImage } from "../runtime/decide/action-input.ts";
import type { ImageLedger } from "./pull-results.ts";

export interface ImagesOptions {
  readonly edges: Omit<ImagePullerOptions, "limits" | "board"> &
    Omit<NodeCredentialsOptions, "config">;
  readonly config: NodeCredentialsOptions["config"] & { readonly pullLimits: PullLimits };
  readonly record: RecordEvent;
  /** What the pod may read. */
  readonly objects: (pod: Pod) => LocalObjects;
  /** Whether the pod comes from a file. */
  readonly isOfFile: (pod: Pod) => boolean;
  /** The runtime's name of the image that this container must run, and no other; undefined = as in its spec. */
  readonly pinned: (uid: PodUID, container: string) => string | undefined;
  /** What the runtime has of the pod. */
  readonly observed: (uid: PodUID) => ObservedPod | undefined;
  readonly ledger: ImageLedger;
  /** A pod waits for a pull until the result is disposed. */
  readonly pulling?: (uid: PodUID) => Disposable;
  /** Absent = there are no archives. */
  readonly archives?: Pick<ImageArchives, "bring">;
}

export interface ImagePulls {
  readonly ensure: EnsureImage;
  /** Whether the image needs no registry; with the policy Always it does until it was asked for this pod. */
  readonly isHere: (pod: Pod, wanted: Container, signal: AbortSignal) => Promise<boolean>;
  /** By an operator's order: asks the registry at once, with the node's own credentials. Rejects like `ImagePuller.ensure`. */
  readonly pull: (image: string, signal: AbortSignal) => Promise<EnsuredImage>;
}

export function imagePulls(options: ImagesOptions): ImagePulls {
  const { edges, config, record, objects, ledger, isOfFile, pulling } = options;
  const puller = new ImagePuller({ ...edges, limits: config.pullLimits, board: ledger.pulls });
  puller.useArchives(options.archives);
  const node = new NodeCredentials({ ...edges, config });
  const access = (pod: Pod, reference: ImageReference): PullAccess => {
    const { secrets, unusable } = pullSecretsOf(pod, objects(pod));
    if (unusable.length > 0) record(podEvent(pod.metadata, unusableSecrets(unusable)));
    const own = credentialsFor(reference, authsOfSecrets(secrets));
    const ofNode = node.of(reference);
    return {
      key: own.length === 0 ? ofNode.key : `${JSON.stringify(own)} ${ofNode.key}`,
      async *list(signal) {
        yield* own;
        yield* ofNode.list(signal);
      },
      refused: () => ofNode.refused(),
    };
  };
  const ensure: EnsureImage = async (pod, container, signal) => {
    const { name, image, imagePullPolicy } = container;
    const ref = pinnedImage(pod, container, options);
    // A pinned image that was removed since is pulled by its name.
    const here = ref === undefined ? undefined : await puller.local(ref, signal);
    if (here !== undefined) {
      record(containerEvent(pod, name, alreadyPresent(image)));
      return here;
    }
    return puller.ensure(image, imagePullPolicy, {
      signal,
      isStrict: pullsStrictly(pod),
      isOfFile: isOfFile(pod),
      record: (event) => record(containerEvent(pod, name, event)),
      ...(pulling === undefined ? {} : { pulling: () => pulling(pod.metadata.uid) }),
      access: (reference) => access(pod, reference),
    });
  };
  const pull: ImagePulls["pull"] = async (image, signal) =>
    puller.ensure(image, "Always", {
      signal,
      isStrict: true,
      isOrdered: true,
      access: (reference) => node.of(reference),
    });
  const ensureNoted: EnsureImage = async (pod, wanted, signal) => {
    const { uid } = pod.metadata;
    try {
      const image = await ensure(pod, wanted, signal);
      ledger.here(uid, wanted.image);
      return image;
    } catch (error) {
      if (!signal.aborted) ledger.failed(uid, wanted.image, error);
      throw lookedAtSoon(error, edges.clock.monotonic());
    }
  };
  const isHere: ImagePulls["isHere"] = async ({ metadata }, wanted, signal) => {
    if (ledger.isHere(metadata.uid, wanted.image)) return true;
    if (wanted.imagePullPolicy === "Always") return false;
    return (await puller.local(wanted.image, signal)) !== undefined;
  };
  return { ensure: ensureNoted, isHere, pull };
}

/** For so long a container waits with `ErrImagePull`, and then with `ImagePullBackOff`, as in the kubelet. */
const FAILURE_SHOWN_MS = 5_000;

function lookedAtSoon(error: unknown, now: Monotonic): unknown {
  if (!(error instanceof AgentError) || error.reason !== "ErrImagePull") return error;
  const { reason, message, cause, retryAt } = error;
  const soon = now + FAILURE_SHOWN_MS;
  if (retryAt === undefined || retryAt <= soon) return error;
  return new AgentError({ reason, message, cause, retryAt: soon });
}

/** Only for a container's own image, not for one that it mounts. */
function pinnedImage(
  pod: Pod,
  wanted: Container,
  { pinned, observed, isOfFile }: ImagesOptions,
): string | undefined {
  const { uid } = pod.metadata;
  if (findContainer(pod.spec, wanted.name)?.image !== wanted.image) return undefined;
  const facts = { observed: observed(uid), isOfFile: isOfFile(pod) };
  return pinned(uid, wanted.name) ?? resolvedImage(pod, wanted, facts);
}
