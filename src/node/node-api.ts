// What the local API and commands ask of the node.

import { rfc3339 } from "../lib/clock.ts";
import type { NodeView } from "./node-view.ts";
import type { NodeEntry } from "./node-view-options.ts";
import type { NodeImage } from "../image/gc/image-keys.ts";
import { containerImages } from "./node-only-status.ts";
import { withoutUndefined } from "../lib/json.ts";
import { list, map, type V1Object } from "./v1-shape.ts";

/** Evaluated for every request. */
export type ServerFacts = Omit<NodeView, "truth" | "reportedPods">;
export type HoldFacts = Pick<NodeView, "changeHold">;
export type TrustFacts = Pick<NodeView, "trust" | "resetTrust" | "rotateNodeKeys">;
export type ShutdownFacts = Pick<NodeView, "shutdown" | "beginShutdown" | "cancelShutdown">;
export type SelfUpdateFacts = Pick<NodeView, "selfUpdate" | "orderSelfUpdate">;
export type ObjectFacts = Pick<NodeView, "objects" | "removeClaimData">;

/** `images`: of the node; none = unknown. */
export function v1Node(
  { name, labels, podCIDRs = [], status, createdAt, swapBytes, ...more }: NodeEntry,
  images: readonly NodeImage[] = [],
): V1Object {
  const { mqttBytes, cpuCelsius } = more;
  const [podCIDR] = podCIDRs;
  return {
    kind: "Node",
    apiVersion: "v1",
    metadata: {
      name,
      labels,
      ...(createdAt === undefined ? {} : { creationTimestamp: rfc3339(createdAt) }),
    },
    ...map("spec", { ...withoutUndefined({ podCIDR }), ...list("podCIDRs", podCIDRs) }),
    status: { ...v1Status(status, swapBytes), ...list("images", containerImages(images)) },
    ...map("metrics", withoutUndefined({ mqttBytes, cpuCelsius })),
  };
}

function v1Status(
  { runtimeHandlers = [], volumesInUse = [], ...status }: NodeEntry["status"],
  swapBytes: number | undefined,
): V1Object {
  const swap = swapBytes === undefined ? {} : { swap: { capacity: swapBytes } };
  return {
    ...status,
    nodeInfo: { ...status.nodeInfo, ...swap },
    ...list("runtimeHandlers", runtimeHandlers),
    ...list("volumesInUse", volumesInUse),
  };
}
