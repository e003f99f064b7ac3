// Which of a pod's observed sandboxes and containers count. "Newest" is the highest attempt, never a creation time
// (highest-attempt). An empty sandbox that a call without an answer created late does not count.

import type { ObservedContainer, ObservedPod, ObservedSandbox } from "./observed-pod.ts";

/** The newest instance of a container; containers are ordered by name, then highest attempt first. */
export function newestContainer(
  observed: ObservedPod | undefined,
  name: string,
): ObservedContainer | undefined {
  return observed?.containers.find((container) => container.name === name);
}

/** The newest instance that was ever started: one that was only made may still be taken away again. */
export function newestStarted(
  observed: ObservedPod | undefined,
  name: string,
): ObservedContainer | undefined {
  return observed?.containers.find((one) => one.name === name && one.state !== "Created");
}

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
