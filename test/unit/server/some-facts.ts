// A node for the local API: healthy, without pods and objects.

import type { NodeStatus } from "../../../src/api/v1/pod-status.ts";
import type { ImageOrders } from "../../../src/image/gc/image-orders.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import { NO_NOTES } from "../../../src/node/explain/pod-notes.ts";
import type { ServerFacts } from "../../../src/node/node-api.ts";
import type { StreamRuntime } from "../../../src/server/stream/runtime-streams.ts";

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

/** A runtime in which nothing runs. */
export const NO_STREAMS: StreamRuntime = {
  listContainers: () => Promise.resolve([]),
  listPodSandbox: () => Promise.resolve([]),
  exec: () => Promise.reject(new Error("nothing runs")),
  attach: () => Promise.reject(new Error("nothing runs")),
  portForward: () => Promise.reject(new Error("nothing runs")),
};

export function someFacts(over: Partial<ServerFacts> = {}): ServerFacts {
  return {
    healthProblems: () => [],
    hasSynced: () => true,
    pods: () => [],
    rejected: () => [],
    desired: () => [],
    linkFacts: () => undefined,
    databaseBytes: () => undefined,
    meter: () => undefined,
    config: () => CONFIG_DEFAULTS,
    events: () => [],
    notes: () => NO_NOTES,
    node: () => ({ name: "pi-1", labels: {}, status: NODE_STATUS }),
    version: () => ({ version: "v0.1.0" }),
    shortenGrace: () => ({ type: "NotFound" }),
    objects: () => [],
    declared: () => undefined,
    removeClaimData: () => ({ type: "NotFound" }),
    trust: () => ({ required: false, why: "", trustPath: "/t", rootKeys: [], problems: [] }),
    restart: () => Promise.resolve(undefined),
    changeHold: () => ({ type: "NotFound" }),
    resetTrust: () => undefined,
    rotateNodeKeys: () => undefined,
    shutdown: () => NO_SHUTDOWN,
    selfUpdate: () => ({ version: "1.0.0", phase: "Idle", failed: [] }),
    orderSelfUpdate: () => undefined,
    beginShutdown: () => NO_SHUTDOWN,
    cancelShutdown: () => NO_SHUTDOWN,
    imageOrders: NO_IMAGES,
    summary: () => Promise.resolve({}),
    ...over,
  };
}
