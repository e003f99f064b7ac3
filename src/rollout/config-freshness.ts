// Whether what runs of a pod has read what it would read if it started now, and could start with it at all. Pure.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { findObject, type LocalObjects } from "../api/v1/local-object.ts";
import { newestContainer } from "../api/pod/newest-observed.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { restartsOnConfigChange } from "../api/pod/pod-annotations.ts";
import { allContainers } from "../api/v1/pod.ts";
import { configDigests, configText } from "../runtime/decide/config-digests.ts";
import { hasChanged, readers as followers } from "../runtime/decide/config-restart.ts";

export interface NewsFacts {
  readonly objects: LocalObjects;
  readonly digest: (text: string) => string;
  readonly observed: ObservedPod | undefined;
}

/** `reads`: of ConfigMaps and Secrets, what a start reads and nobody is told of later. */
export type News = { readonly reads: boolean } & (
  | { readonly type: "Read"; readonly content: string }
  /** Some container runs with what was there before. */
  | { readonly type: "Unread" }
  /** A container could not start now: an object is missing, or a part of one. */
  | { readonly type: "Unusable" }
);

export function newsOf({ pod }: DesiredPod, { objects, digest, observed }: NewsFacts): News {
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
