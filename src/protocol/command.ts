// Answers of a node to commands over MQTT, and what is stored of a command. The verbs: command/verbs.ts.

import type { ResponsePhase } from "./status-codes.ts";

export interface CommandResponse {
  readonly id: string;
  readonly phase: ResponsePhase;
  readonly code: number;
  /** Number of the part, from 0, of an answer in parts; the last one has `last`. */
  readonly part?: number;
  readonly last?: boolean;
  readonly data?: unknown;
  readonly error?: {
    readonly category: string;
    readonly component: string;
    readonly element?: string;
    readonly message: string;
  };
}

/** Stored of a command before it is carried out. */
export interface TakenCommand {
  readonly id: string;
  readonly replyTo: string;
  /** MQTT 5's Correlation Data. */
  readonly correlation?: Uint8Array;
  /** Wall-clock milliseconds. */
  readonly forgetAt: number;
  /** The session in which it arrived; absent = in none. */
  readonly session?: number;
  /** Kept while its session lasts, because a replay would be carried out again. */
  readonly held?: boolean;
}

/** When something is stored. */
export interface CommandMoment {
  /** Wall-clock milliseconds. */
  readonly now: number;
  /** The present or latest session; 0 = none yet. */
  readonly session: number;
}
