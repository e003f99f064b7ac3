// How a pod stands when there is not room for all: what runs is not pushed out by a newcomer.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { PodCache } from "../pleg/pod-cache.ts";
import type { Standing } from "../source/pod-config.ts";

export function standingOf(cache: PodCache, { uid, pod }: DesiredPod): Standing {
  if (cache.get(uid) !== undefined) return 0;
  const { namespace, name } = pod.metadata;
  const hasOlder = [...cache.all().values()].some(
    (other) => other.namespace === namespace && other.name === name,
  );
  return hasOlder ? 1 : 2;
}
