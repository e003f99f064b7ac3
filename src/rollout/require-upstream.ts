// The update policy `requireUpstream`: whether an update must prove that it has not cut the node off from its broker, and
// whether it has.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { UpdatePolicy } from "../api/pod/update-policy.ts";
import { allContainers, type Pod } from "../api/v1/pod.ts";
import type { Monotonic } from "../lib/clock.ts";

/** The connection to the broker. */
export interface UpstreamFacts {
  /** There is a connection now. */
  readonly isConnected: boolean;
  /** Last round trip, in this life of the agent. */
  readonly reachedAt: Monotonic | undefined;
  /** The broker has acknowledged a message of this life of the agent. */
  readonly hasAcknowledged?: boolean;
}

export type UpstreamProof = "Awaited" | "Confirmed";

/** `since`: when the new pod was ready; undefined = not on trial yet. Only a round trip after it proves anything. */
export function upstreamProof(
  { reachedAt }: UpstreamFacts,
  since: Monotonic | undefined,
): UpstreamProof {
  if (since === undefined || reachedAt === undefined) return "Awaited";
  return reachedAt > since ? "Confirmed" : "Awaited";
}

/** `pods`: the new one and the one that goes; the connection may have depended on either. */
export function mayCutOff(pods: readonly DesiredPod[], { requireUpstream }: UpdatePolicy): boolean {
  switch (requireUpstream) {
    case "always":
      return true;
    case "never":
      return false;
    case "auto":
      return pods.some(({ pod }) => hasAccessToNode(pod));
  }
}

/** To the node's own network, or to all of the node. */
function hasAccessToNode({ spec }: Pod): boolean {
  return (
    spec.hostNetwork ||
    allContainers(spec).some(({ securityContext }) => securityContext.privileged === true)
  );
}
