// The parts of a node's status that only the node itself shows; a report of them would cost bytes each time.

import { referencesOf } from "../api/pod/object-references.ts";
import type { Pod } from "../api/v1/pod.ts";
import { compareText } from "../lib/compare.ts";
import type { NodeImage } from "../image/gc/image-keys.ts";
import type { RuntimeFeatures } from "../runtime/cri-config/features.ts";

/** Kubernetes' NodeRuntimeHandler. */
interface RuntimeHandler {
  /** "" = the default one. */
  readonly name: string;
  readonly features: {
    readonly recursiveReadOnlyMounts: boolean;
    readonly userNamespaces: boolean;
  };
}

export interface NodeOnlyStatus {
  readonly runtimeHandlers: readonly RuntimeHandler[];
  /** Kubernetes' NodeFeatures. */
  readonly features: { readonly supplementalGroupsPolicy: boolean };
  /** `persistentvolumeclaim/<namespace>/<name>` of each claim that a pod on the node uses. */
  readonly volumesInUse: readonly string[];
}

export function nodeOnlyStatus(
  {
    handlers,
    supplementalGroupsPolicy,
  }: Pick<RuntimeFeatures, "handlers" | "supplementalGroupsPolicy">,
  running: readonly Pod[],
): NodeOnlyStatus {
  const claims = running.flatMap((pod) =>
    referencesOf(pod)
      .filter(({ kind }) => kind === "PersistentVolumeClaim")
      .map(({ namespace, name }) => `persistentvolumeclaim/${namespace}/${name}`),
  );
  return {
    runtimeHandlers: [...handlers].map(([name, { recursiveReadOnly, userNamespaces }]) => ({
      name,
      features: { recursiveReadOnlyMounts: recursiveReadOnly, userNamespaces },
    })),
    features: { supplementalGroupsPolicy },
    volumesInUse: [...new Set(claims)].toSorted(compareText),
  };
}

/** Kubernetes' ContainerImage. */
interface ContainerImage {
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** kubelet: nodeStatusMaxImages */
const SHOWN_IMAGES = 50;
/** kubelet: MaxNamesPerImageInNodeStatus */
const SHOWN_NAMES = 5;

/** The largest first. */
export function containerImages(images: readonly NodeImage[]): readonly ContainerImage[] {
  return images
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes || compareText(a.id, b.id))
    .slice(0, SHOWN_IMAGES)
    .map(({ tags, digests, sizeBytes }) => ({
      names: [...digests, ...tags].slice(0, SHOWN_NAMES),
      sizeBytes,
    }));
}
