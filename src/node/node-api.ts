// What the local API and commands ask of the node.

import { rfc3339 } from "../lib/clock.ts";
import type { NodeEntry, NodeView } from "./node-view.ts";
import type { V1Object } from "./v1-shape.ts";

/** Evaluated for every request. */
export type ServerFacts = Omit<NodeView, "truth">;
export type HoldFacts = Pick<NodeView, "changeHold">;
export type TrustFacts = Pick<NodeView, "trust" | "resetTrust">;
export type ObjectFacts = Pick<NodeView, "objects" | "removeClaimData">;

export function v1Node({ name, labels, status, createdAt, mqttBytes }: NodeEntry): V1Object {
  return {
    kind: "Node",
    apiVersion: "v1",
    metadata: {
      name,
      labels,
      ...(createdAt === undefined ? {} : { creationTimestamp: rfc3339(createdAt) }),
    },
    status,
    ...(mqttBytes === undefined ? {} : { metrics: { mqttBytes } }),
  };
}
