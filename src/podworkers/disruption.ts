// Decides whether a pod that ends was pushed out by this node rather than dropped by its owner. k8s: DisruptionTarget

import type { DesiredPod, Rejection } from "../api/pod/desired-pod.ts";

export interface Disruption {
  readonly reason: "TerminationByKubelet";
  readonly message: string;
}

/** It is still asked for, but a source of higher rank has taken its host port. */
export function disruptionOf(
  { pod, source }: DesiredPod,
  rejected: readonly Rejection[],
): Disruption | undefined {
  const { namespace, name } = pod.metadata;
  const why = rejected.find(
    (one) =>
      one.code === "HostPortConflict" &&
      one.source === source &&
      one.namespace === namespace &&
      one.name === name,
  );
  return why === undefined
    ? undefined
    : { reason: "TerminationByKubelet", message: `preempted: ${why.message}` };
}
