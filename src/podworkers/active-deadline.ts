// Decides when a pod exceeds activeDeadlineSeconds. kubelet: activeDeadlineHandler
// Counts time since boot, from 0 after a reboot: the wall clock of a device may be wrong.

import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { earliest, type Monotonic } from "../lib/clock.ts";
import type { PodFailure } from "../api/v1/pod-status.ts";

export const DEADLINE_EXCEEDED: PodFailure = {
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};

/** When the pod began in this boot, by its sandboxes; undefined = unknown. */
export function activeSince(
  observed: ObservedPod | undefined,
  bootId: string,
): Monotonic | undefined {
  const own = (observed?.sandboxes ?? []).filter((sandbox) => sandbox.bootId === bootId);
  return earliest(own.map((sandbox) => sandbox.activeSince));
}

/** undefined = no deadline. */
export function deadlineOf(spec: PodSpec, since: Monotonic): Monotonic | undefined {
  const seconds = spec.activeDeadlineSeconds;
  return seconds === undefined ? undefined : since + seconds * 1000;
}
