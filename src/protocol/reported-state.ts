// What a node publishes of itself: its state (birth, clean stop, last will), its reports, and a report for each pod.

import type { NodeStatus, PodStatus } from "../api/v1/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";
import type { Phase } from "./status-codes.ts";

/** One per document: how the accepted one runs, and which one was refused last. */
export interface Ack {
  /** `node`, `group/<g>`, `static`. */
  readonly source: string;
  readonly epoch: string;
  /** Last accepted; 0 = none. */
  readonly generation: number;
  /** Last fully converged; 0 = none. */
  readonly observedGeneration: number;
  readonly digest: string;
  readonly signed: boolean;
  readonly phase: Phase;
  readonly code: number;
  readonly message?: string;
  /** RFC 3339; since when phase and code are what they are. */
  readonly since: string;
  readonly lastGood?: { readonly generation: number };
  readonly lastRejected?: LastRejected;
  readonly progress?: Progress;
}

export interface LastRejected {
  readonly generation?: number;
  readonly digest: string;
  readonly code: number;
  readonly message: string;
  /** RFC 3339. */
  readonly at: string;
  readonly count: number;
}

export interface Progress {
  readonly images: number;
  readonly imagesDone: number;
  readonly bytes?: number;
  readonly bytesDone?: number;
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

export interface RejectedLine {
  readonly source: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly code: string;
  readonly path?: string;
  readonly message: string;
}

export interface ReportedState {
  readonly apiVersion: "agent/v1";
  readonly kind: "ReportedState";
  readonly node: string;
  readonly incarnation: string;
  readonly session: number;
  readonly seq: number;
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
export interface PodReport {
  readonly incarnation: string;
  readonly session: number;
  readonly seq: number;
  readonly uid: string;
  readonly specHash: string;
  readonly source: string;
  readonly status: PodStatus;
}

interface StateFacts {
  readonly incarnation: string;
  readonly session: number;
  /** Wall-clock milliseconds. */
  readonly now: number;
  readonly about: NodeAbout;
}

/** Details of the node in its state message. */
export interface NodeAbout {
  readonly bootID?: string;
  /** Version of the agent. */
  readonly agent?: string;
  readonly features?: readonly string[];
}

/** The payload, as bytes of JSON. */
export function stateMessage(
  state: "online" | "offline" | "lost",
  { incarnation, session, now, about }: StateFacts,
): Uint8Array {
  const document = { state, incarnation, session, time: rfc3339(now), ...about, protocol: 1 };
  return new TextEncoder().encode(JSON.stringify(document));
}
