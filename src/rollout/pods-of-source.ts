// What is there of the pods of one source, by whoever works on them and by the runtime.

import type { SourceName } from "../api/pod/desired-pod.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import type { Pods } from "../podworkers/pods.ts";

/** Whether anything of this source is there under `name` (`namespace/name`). */
export function isThere(
  { workers, cache }: Pick<Pods, "workers" | "cache">,
  source: SourceName,
  name: string,
): boolean {
  const isWorking = workers
    .all()
    .some(({ desired }) => desired.source === source && podName(desired.pod) === name);
  if (isWorking) return true;
  return [...cache.all().values()].some(
    (pod) => pod.source === source && `${pod.namespace}/${pod.name}` === name,
  );
}

/** Container name → what the runtime calls the image that it runs. */
export function imagesOf(
  { cache }: Pick<Pods, "cache">,
  uid: PodUID,
): Readonly<Record<string, string>> {
  // The newest of a name stands first.
  const containers = (cache.get(uid)?.containers ?? []).toReversed();
  return Object.fromEntries(containers.map(({ name, imageID }) => [name, imageID] as const));
}

/** Whether a container of this UID runs. */
export function isRunning({ cache }: Pick<Pods, "cache">, uid: PodUID): boolean {
  return cache.get(uid)?.containers.some(({ state }) => state === "Running") === true;
}
