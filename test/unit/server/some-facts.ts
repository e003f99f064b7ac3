// A node for the local API: healthy, without pods and objects.

import type { NodeStatus } from "../../../src/api/v1/pod-status.ts";
import type { ImageOrders } from "../../../src/image/gc/image-orders.ts";
import type { ServerFacts } from "../../../src/node/node-api.ts";

export const NODE_STATUS: NodeStatus = {
  conditions: [],
  addresses: [],
  capacity: {},
  allocatable: {},
  nodeInfo: {},
};

export const NO_SHUTDOWN = { active: false, known: true, pods: [], seconds: 0 };

export const NO_IMAGES: ImageOrders = {
  images: () => Promise.resolve([]),
  list: () => Promise.resolve([]),
  progress: () => undefined,
  pull: (image) => Promise.resolve({ ref: image }),
  remove: () => Promise.resolve({ type: "NotFound" }),
  isSettled: () => true,
  unused: () => Promise.resolve([]),
  prune: () => Promise.resolve({ freedBytes: 0, removed: [] }),
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
    shutdown: () => NO_SHUTDOWN,
    beginShutdown: () => NO_SHUTDOWN,
    cancelShutdown: () => NO_SHUTDOWN,
    imageOrders: NO_IMAGES,
    summary: () => Promise.resolve({}),
    ...over,
  };
}
