// Answers of a node to commands over MQTT, and what is stored of a command. The verbs: command/verbs.ts.

import type { ResponsePhase } from "./status-codes.ts";

export interface CommandResponse {
  readonly id: string;
  readonly phase: ResponsePhase;
  readonly code: number;
  /** Of an answer in parts, from 0; `last` stands in the last one. */
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

/** What is written down of a command before it is done. */
export interface TakenCommand {
  readonly id: string;
  readonly replyTo: string;
  /** MQTT 5's Correlation Data. */
  readonly correlation?: Uint8Array;
  /** Wall ms. */
  readonly forgetAt: number;
  /** In which it came; absent = in none. */
  readonly session?: number;
  /** Never forgotten while its session lasts: sent again, it would be obeyed again. */
  readonly held?: boolean;
}

/** When something is written down. */
export interface CommandMoment {
  /** Wall ms. */
  readonly now: number;
  /** The present or latest session; 0 = none yet. */
  readonly session: number;
}
