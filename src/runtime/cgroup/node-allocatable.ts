// What of the node pods may ask for. kubelet: GetNodeAllocatableReservation

import type { AgentConfig } from "../../config/config.ts";
import type { Edges } from "../../edges.ts";
import { allocatableAmounts } from "../../api/resource/node-resources.ts";
import type { Amounts } from "../../api/resource/pod-requests-limits.ts";

/** The node's capacity less what is reserved. */
export function allocatableOf({ machine }: Pick<Edges, "machine">, config: AgentConfig): Amounts {
  return allocatableAmounts({ ...machine, maxPods: config.maxPods }, config);
}
