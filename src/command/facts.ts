// What a command is judged by: the message as it arrived, and what is true on the node by then.

import type { SignedEnvelope } from "../protocol/dsse.ts";

/** A message as it arrived. */
export interface CommandMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retain: boolean;
  readonly responseTopic?: string;
  readonly correlationData?: Uint8Array;
}

/** What is true on the node when it arrives. */
export interface CommandFacts {
  readonly root: string;
  readonly node: string;
  readonly groups: readonly string[];
  readonly fleet?: string | undefined;
  /** Of the present birth; undefined = not born yet. */
  readonly session: number | undefined;
  /** Wall ms. */
  readonly now: number;
  readonly clockTrusted: boolean;
  /** May look at the disk: asked only of what can be read. */
  readonly signaturesRequired: () => boolean;
  /** A sentence why its signature does not count; undefined = it does. Throws never. */
  readonly verify: (envelope: SignedEnvelope, group: string | undefined) => string | undefined;
  /** The final code of a command that was taken before, 0 = it is at work; undefined = never seen. */
  readonly codeOf: (id: string) => number | undefined;
}
