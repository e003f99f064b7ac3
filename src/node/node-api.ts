// What the doors (local API, commands) ask of this node.

import type { NamedPod } from "../api/v1/pod.ts";
import type { HoldVerb, HoldOutcome } from "../rollout/update-holds.ts";
import type { TrustView } from "../trust/trust-view.ts";
import type { ObjectEntry } from "./object-list.ts";
import type { ClaimOutcome, ClaimName } from "../volume/claims.ts";
import type { NodeStatus } from "../api/v1/pod-status.ts";
import type { PodEntry } from "./pod-list.ts";
import type { Rejection } from "../api/pod/desired-pod.ts";
import type { EventEntry } from "./events-list.ts";
import type { V1Object } from "./v1-shape.ts";
import { rfc3339 } from "../lib/clock.ts";
import type { SourceName } from "../api/pod/labels.ts";

/** What became of an order to stop sooner. */
export type GraceOutcome =
  | { readonly type: "Shortened" }
  /** It is not being stopped: this source wants it. */
  | { readonly type: "Wanted"; readonly source: SourceName; readonly sourceRef: string }
  | { readonly type: "NotFound" };

export interface HoldFacts {
  /** `pod` undefined = the whole node. Throws what cannot be written down. */
  changeHold(verb: HoldVerb, pod: NamedPod | undefined): HoldOutcome;
}

export interface TrustFacts {
  trust(): TrustView;
  /** Throws when the disk does not take it: then signatures are required as before. */
  resetTrust(): void;
}

export interface ObjectFacts {
  /** What counts in one namespace, or in all; the node's own ConfigMap is in each. */
  objects(namespace: string | undefined): readonly ObjectEntry[];
  /** Removes the directory of a claim that no pod uses. */
  removeClaimData(claim: ClaimName): ClaimOutcome;
}

export interface NodeEntry {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: NodeStatus;
  /** Wall ms of the agent's first start on this node, where known. */
  readonly createdAt?: number;
  /** MQTT packet bytes since the agent started, by what they were for; absent = no MQTT. */
  readonly mqttBytes?: Readonly<Record<string, { readonly in: number; readonly out: number }>>;
}

export interface VersionInfo {
  readonly version: string;
  readonly [key: string]: string;
}

/** Where the answers come from; each is asked anew for every request. */
export interface ServerFacts extends ObjectFacts, TrustFacts, HoldFacts {
  /** Sentences about what is stuck; empty = healthy. */
  healthProblems(): readonly string[];
  /** One per namespace/name: while a replacement waits, the pod that runs. */
  pods(): readonly PodEntry[];
  rejected(): readonly Rejection[];
  /** Oldest occurrence first. */
  events(): readonly EventEntry[];
  node(): NodeEntry;
  version(): VersionInfo;
  /** Gives a pod that is being stopped less time. */
  shortenGrace(pod: NamedPod, seconds: number): GraceOutcome;
}

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
