// Which of a pod's sandboxes the pod lives in: one that came up late and empty, from a call whose answer was lost,
// tells nothing of it.

import type { ObservedPod, ObservedSandbox } from "./observed-pod.ts";

/** The newest in which a container has ever run. */
export function lastUsedSandbox(observed: ObservedPod | undefined): ObservedSandbox | undefined {
  const ran = observed?.containers.filter(({ state }) => state !== "Created") ?? [];
  const used = new Set(ran.map(({ sandboxId }) => sandboxId));
  return observed?.sandboxes.find(({ id }) => used.has(id));
}

/** The one that the pod's address and conditions speak of: the newest, unless it is beside one in use. */
export function currentSandbox(observed: ObservedPod | undefined): ObservedSandbox | undefined {
  const used = lastUsedSandbox(observed);
  return used?.state === "Ready" ? used : observed?.sandboxes[0];
}
