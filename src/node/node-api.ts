// The interface of the node to the local API and to commands.

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

/** The result of shortening a grace period. */
export type GraceOutcome =
  | { readonly type: "Shortened" }
  /** The pod is not being stopped, because this source declares it. */
  | { readonly type: "Wanted"; readonly source: SourceName; readonly sourceRef: string }
  | { readonly type: "NotFound" };

export interface HoldFacts {
  /** `pod` undefined = the whole node. Throws if the change cannot be stored. */
  changeHold(verb: HoldVerb, pod: NamedPod | undefined): HoldOutcome;
}

export interface TrustFacts {
  trust(): TrustView;
  /** Throws if the change cannot be stored: then signatures are required as before. */
  resetTrust(): void;
}

export interface ObjectFacts {
  /** The effective objects of one namespace, or of all; the node's own ConfigMap is in each. */
  objects(namespace: string | undefined): readonly ObjectEntry[];
  /** Removes the directory of a claim that no pod uses. */
  removeClaimData(claim: ClaimName): ClaimOutcome;
}

export interface NodeEntry {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: NodeStatus;
  /** Wall-clock milliseconds of the agent's first start on this node, if known. */
  readonly createdAt?: number;
  /** MQTT packet bytes since the agent started, by purpose; absent = no MQTT. */
  readonly mqttBytes?: Readonly<Record<string, { readonly in: number; readonly out: number }>>;
}

export interface VersionInfo {
  readonly version: string;
  readonly [key: string]: string;
}

/** Evaluated for every request. */
export interface ServerFacts extends ObjectFacts, TrustFacts, HoldFacts {
  /** Problems as sentences; empty = healthy. */
  healthProblems(): readonly string[];
  /** One per namespace/name: the running pod while a replacement waits. */
  pods(): readonly PodEntry[];
  rejected(): readonly Rejection[];
  /** Oldest occurrence first. */
  events(): readonly EventEntry[];
  node(): NodeEntry;
  version(): VersionInfo;
  /** Shortens the grace period of a pod that is being stopped. */
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
