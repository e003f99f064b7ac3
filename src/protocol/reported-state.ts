// What a node publishes of itself: its state (birth, clean stop, last will), its reports, and a report for each pod.

import type { NodeStatus, PodStatus } from "../api/v1/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";
import type { Rejection } from "../api/pod/desired-pod.ts";
import type { DocumentVersion, ImageProgress, RefusedDocument } from "./desired-document.ts";
import type { Phase } from "./status-codes.ts";
import { jsonBytes } from "./wire-text.ts";

/** One per document: how the accepted one runs, and which one was refused last. */
export interface Ack extends Required<Omit<DocumentVersion, "observedGeneration">> {
  /** `node`, `group/<g>`, `static`. */
  readonly source: string;
  /** Last fully converged; 0 = none. */
  readonly observedGeneration: number;
  readonly phase: Phase;
  readonly code: number;
  readonly message?: string;
  /** RFC 3339; since when phase and code are what they are. */
  readonly since: string;
  readonly lastGood?: Pick<DocumentVersion, "generation">;
  readonly lastRejected?: LastRejected;
  readonly progress?: ImageProgress;
}

export interface LastRejected extends Omit<RefusedDocument, "at"> {
  /** RFC 3339. */
  readonly at: string;
}

export interface PodLine {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** As in `Ack.source`. */
  readonly source: string;
  readonly specHash: string;
  readonly phase: string;
  /** `ready/all` containers. */
  readonly ready: string;
  /** Of all containers together. */
  readonly restarts: number;
  readonly reason?: string;
  /** RFC 3339; "" = unknown. */
  readonly since: string;
}

export interface RejectedLine extends Omit<
  Rejection,
  "source" | "ref" | "path" | "line" | "column"
> {
  /** As in `Ack.source`. */
  readonly source: string;
  readonly path?: string;
}

/** Orders messages: session and seq are comparable only inside one incarnation. */
export interface MessageNumber {
  readonly incarnation: string;
  readonly session: number;
  readonly seq: number;
}

export interface ReportedState extends MessageNumber {
  readonly apiVersion: "agent/v1";
  readonly kind: "ReportedState";
  readonly node: string;
  /** RFC 3339. */
  readonly time: string;
  readonly clockTrusted: boolean;
  readonly desired: readonly Ack[];
  readonly status: NodeStatus;
  readonly pods: readonly PodLine[];
  /** Number of pods that are not listed, for lack of room. */
  readonly truncated?: number;
  readonly rejected: readonly RejectedLine[];
}

/** Retained on the pod's own topic; newest wins. */
export interface PodReport extends MessageNumber, Pick<PodLine, "uid" | "specHash" | "source"> {
  readonly status: PodStatus;
}

interface StateFacts extends Pick<MessageNumber, "incarnation" | "session"> {
  /** Wall-clock milliseconds. */
  readonly now: number;
  readonly bootID: string;
  /** Version of the agent. */
  readonly agent: string;
}

/** The payload, as bytes of JSON. */
export function stateMessage(
  state: "online" | "offline" | "lost",
  { incarnation, session, now, bootID, agent }: StateFacts,
): Uint8Array {
  const time = rfc3339(now);
  return jsonBytes({ state, incarnation, session, time, bootID, agent, protocol: 1 });
}
