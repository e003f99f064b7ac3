// Requests to a node over MQTT and its answers (MQTT.md §5).

export const COMMAND_VERBS = [
  "ping",
  "get",
  "describe",
  "explain",
  "logs",
  "restart",
  "hold",
  "release",
  "pull",
] as const;
export type CommandVerb = (typeof COMMAND_VERBS)[number];

/** Part of the contract, not of this agent yet: answered 501. */
export const LATER_VERBS = ["exec", "reboot", "support-bundle", "agent-update"] as const;

/** Verbs that change nothing and are answered while nothing is signed. */
export const OPEN_VERBS: readonly CommandVerb[] = ["ping", "get"];

export interface Command {
  /** A ULID: whoever asks twice with the same is answered once. */
  readonly id: string;
  readonly verb: CommandVerb;
  readonly target: { readonly node?: string; readonly group?: string; readonly fleet?: string };
  /** Of the node's present birth; a signed command must carry it. */
  readonly session?: number;
  readonly args: Readonly<Record<string, unknown>>;
  /** Wall ms. */
  readonly issuedAt?: number;
  /** Seconds, 1 to 86,400. */
  readonly ttl: number;
  readonly replyTo?: string;
}

export type ResponsePhase =
  "accepted" | "running" | "done" | "failed" | "expired" | "denied" | "duplicate";

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
