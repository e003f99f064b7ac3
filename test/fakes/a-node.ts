// A node for admission: it has room for every pod unless a test takes some away.

import { amountsOf } from "../../src/api/resource/pod-requests-limits.ts";
import type { ResourceList } from "../../src/api/v1/resources.ts";
import type { NodeInfo } from "../../src/source/admission/admit-pod.ts";
import type { MergeOptions } from "../../src/source/merge-sources.ts";

export function aNode(allocatable: ResourceList = {}): NodeInfo {
  return {
    nodeName: "pi-1",
    labels: {},
    ownLabels: {},
    allocatable: amountsOf({ cpu: "1000", memory: "1Ti", ...allocatable }),
    hasAppArmor: true,
    allowedUnsafeSysctls: [],
    maxPods: 110,
    runtimeClasses: {},
    priorityClasses: {},
  };
}

/** Merging on a node in no group, where nothing runs. */
export const ROOMY: MergeOptions = {
  groupPriorities: new Map(),
  node: aNode(),
  admissionRank: () => 2,
  occupants: [],
  isOver: () => false,
};
