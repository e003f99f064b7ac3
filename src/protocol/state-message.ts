// The `state` document: birth, clean stop and last will (MQTT.md §4).

import { rfc3339 } from "../lib/clock.ts";

export interface StateFacts {
  readonly incarnation: string;
  readonly session: number;
  /** Wall ms. */
  readonly now: number;
  readonly about: NodeAbout;
}

/** What birth tells of the node besides that it is there. */
export interface NodeAbout {
  readonly bootID?: string;
  /** Our version. */
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
