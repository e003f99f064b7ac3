// The health of all pods at one moment, each beside what it was before.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { PodStatus } from "../api/v1/pod-status.ts";
import { podHealth, type PodHealth } from "./pod-health.ts";

export interface JudgedPod {
  readonly desired: DesiredPod;
  readonly status: PodStatus | undefined;
  readonly terminating: boolean;
  readonly pulling: boolean;
}

export function healthOf(
  pods: readonly JudgedPod[],
  before: ReadonlyMap<PodUID, PodHealth>,
  now: number,
): ReadonlyMap<PodUID, PodHealth> {
  return new Map(
    pods.map(({ desired, status, terminating, pulling }) => [
      desired.uid,
      podHealth(desired, { status, now, terminating, pulling }, before.get(desired.uid)),
    ]),
  );
}
