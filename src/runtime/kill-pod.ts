// Ends everything the runtime has of one pod: containers gracefully, then sandboxes, then their records. kubelet: KillPod

import type { ObservedPod } from "../api/observed-pod.ts";
import type { CriClient } from "../cri/cri-client.ts";
import { AgentError, messageOf } from "../lib/errors.ts";

/** kubelet's default for a pod whose spec is not known any more. */
const DEFAULT_GRACE_SECONDS = 30;

/** Seconds a container may take: what the caller knows, else what was written on it when it was made. */
function graceFor(container: ObservedPod["containers"][number], known: number | undefined): number {
  return known ?? container.gracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
}

/** Nothing of the pod runs any more and its network is released, or AgentError `KillPodError`. */
export async function stopPod(
  cri: CriClient,
  observed: ObservedPod,
  graceSeconds: number | undefined,
): Promise<void> {
  const running = observed.containers.filter(
    ({ state }) => state === "Running" || state === "Unknown",
  );
  // A start whose answer was lost may yet come through: without its container it cannot, and none dies without grace.
  const unstarted = observed.containers.filter(({ state }) => state === "Created");
  await allOf([
    ...running.map((c) => cri.stopContainer(c.id, graceFor(c, graceSeconds))),
    ...unstarted.map(({ id }) => cri.removeContainer(id)),
  ]);
  // Also the ones that are down already: only an answered StopPodSandbox says that the network is released.
  await allOf(observed.sandboxes.map(({ id }) => cri.stopPodSandbox(id)));
}

/** Forgets a stopped pod: the runtime removes a sandbox's containers with it. */
export async function removePod(cri: CriClient, observed: ObservedPod): Promise<void> {
  const inSandboxes = new Set(observed.sandboxes.map(({ id }) => id));
  const orphans = observed.containers.filter(({ sandboxId }) => !inSandboxes.has(sandboxId));
  await allOf(orphans.map(({ id }) => cri.removeContainer(id)));
  await allOf(observed.sandboxes.map(({ id }) => cri.removePodSandbox(id)));
}

/** Waits for all, however some end: one stuck container must not shorten another's grace. */
async function allOf(calls: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(calls);
  const errors = results.filter((result) => result.status === "rejected");
  const [first] = errors;
  if (first === undefined) return;
  throw new AgentError({
    reason: "KillPodError",
    message: errors.map(({ reason }) => messageOf(reason)).join("; "),
    cause: first.reason,
  });
}
