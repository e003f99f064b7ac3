// A node for the local API: healthy, without pods and objects.

import type { NodeStatus } from "../../../src/api/v1/pod-status.ts";
import type { ServerFacts } from "../../../src/node/node-api.ts";

export const NODE_STATUS: NodeStatus = {
  conditions: [],
  addresses: [],
  capacity: {},
  allocatable: {},
  nodeInfo: {},
};

export function someFacts(over: Partial<ServerFacts> = {}): ServerFacts {
  return {
    healthProblems: () => [],
    pods: () => [],
    rejected: () => [],
    events: () => [],
    node: () => ({ name: "pi-1", labels: {}, status: NODE_STATUS }),
    version: () => ({ version: "v0.1.0" }),
    shortenGrace: () => ({ type: "NotFound" }),
    objects: () => [],
    removeClaimData: () => ({ type: "NotFound" }),
    trust: () => ({ required: false, why: "", trustPath: "/t", rootKeys: [], problems: [] }),
    changeHold: () => ({ type: "NotFound" }),
    resetTrust: () => undefined,
    ...over,
  };
}
