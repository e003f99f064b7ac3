// Whether what runs of a pod has read what it would read if it started now, and could start with it at all. Pure.

import type { DesiredPod } from "../api/desired-pod.ts";
import { findObject, type LocalObjects } from "../api/local-object.ts";
import { newestContainer } from "../api/newest-observed.ts";
import { referencesOf } from "../api/object-references.ts";
import type { ObservedPod } from "../api/observed-pod.ts";
import { restartsOnConfigChange } from "../api/pod-annotations.ts";
import { allContainers, isSidecar, type Container, type PodSpec } from "../api/pod.ts";
import { restartPolicyOf } from "../api/restart-policy.ts";
import { configDigests, configText } from "../runtime/config-digests.ts";

export interface NewsFacts {
  readonly objects: LocalObjects;
  readonly digest: (text: string) => string;
  readonly observed: ObservedPod | undefined;
}

export type News =
  /** `content`: which; "" = it reads nothing that a start reads. */
  | { readonly type: "Read"; readonly content: string }
  /** Some container runs with what was there before. */
  | { readonly type: "Unread" }
  /** A container could not start now: an object is missing, or a part of one. */
  | { readonly type: "Unusable" };

export function newsOf({ pod }: DesiredPod, { objects, digest, observed }: NewsFacts): News {
  const misses = referencesOf(pod).some(
    (one) => !one.optional && findObject(objects, one) === undefined,
  );
  if (misses) return { type: "Unusable" };
  const digests = configDigests(pod, { objects, isSettled: true, digest });
  const readers = allContainers(pod.spec).filter(
    (container) => configText(pod, container, objects) !== undefined,
  );
  if (readers.some(({ name }) => digests[name] === undefined)) return { type: "Unusable" };
  const followers = restartsOnConfigChange(pod)
    ? readers.filter((container) => followsNews(pod.spec, container))
    : [];
  const isBehind = followers.some(({ name }) => {
    const newest = newestContainer(observed, name);
    return newest === undefined || differ(newest.configDigest, digests[name]);
  });
  if (isBehind) return { type: "Unread" };
  return { type: "Read", content: readers.map(({ name }) => digests[name]).join(" ") };
}

/** One that has done its work reads nothing any more, and nobody starts it anew for that. */
function followsNews(spec: PodSpec, container: Container): boolean {
  if (isSidecar(spec, container)) return true;
  const isInit = spec.initContainers.includes(container);
  return !isInit && restartPolicyOf(spec, container) !== "Never";
}

/** Digests of two keys tell nothing of each other, nor does a container that an older agent has made. */
function differ(read: string | undefined, now: string | undefined): boolean {
  if (read === undefined || now === undefined) return false;
  const keyOf = (digest: string): string => digest.slice(0, digest.lastIndexOf(":"));
  return keyOf(read) === keyOf(now) && read !== now;
}
