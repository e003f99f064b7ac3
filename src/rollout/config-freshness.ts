// Whether the running containers of a pod have read the content that they would read if they started now, and whether
// they could start with it at all.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { findObject, type LocalObjects } from "../api/v1/object/local-object.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import { type ObservedPod, newestContainer } from "../api/pod/observed-pod.ts";
import { restartsOnConfigChange } from "../api/pod/pod-annotations.ts";
import { allContainers } from "../api/v1/pod.ts";
import { configDigests, configText } from "../runtime/decide/config-digest.ts";
import { hasChanged, readers as followers } from "../runtime/decide/restart-on-config-change.ts";

interface FreshnessFacts {
  readonly objects: LocalObjects;
  readonly digest: (text: string) => string;
  readonly observed: ObservedPod | undefined;
}

/** `reads`: containers read ConfigMaps or Secrets at their start, and only then. */
export type ConfigFreshness = { readonly reads: boolean } & (
  | { readonly type: "Read"; readonly content: string }
  /** Some container runs with the content of before. */
  | { readonly type: "Unread" }
  /** A container could not start now: an object is missing, or a part of one. */
  | { readonly type: "Unusable" }
);

export function configFreshness(
  { pod }: DesiredPod,
  { objects, digest, observed }: FreshnessFacts,
): ConfigFreshness {
  const readers = allContainers(pod.spec).filter(
    (container) => configText(pod, container, objects) !== undefined,
  );
  const reads = readers.length > 0;
  const misses = referencesOf(pod).some(
    (one) => !one.optional && findObject(objects, one) === undefined,
  );
  if (misses) return { type: "Unusable", reads };
  const digests = configDigests(pod, { objects, isSettled: true, digest });
  if (readers.some(({ name }) => digests[name] === undefined)) return { type: "Unusable", reads };
  const follow = restartsOnConfigChange(pod) ? followers(pod) : [];
  const isBehind = readers
    .filter((container) => follow.includes(container))
    .some(({ name }) => {
      const newest = newestContainer(observed, name);
      return newest === undefined || hasChanged(newest.configDigest, digests[name]);
    });
  if (isBehind) return { type: "Unread", reads };
  return { type: "Read", reads, content: readers.map(({ name }) => digests[name]).join(" ") };
}
