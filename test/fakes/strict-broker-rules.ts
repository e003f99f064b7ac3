// What the clouds allow and what they do to whoever breaks it, as plain data.

import type { ConnectAck } from "../../src/mqtt/mqtt-link.ts";

export const PERSONALITIES = ["aws", "eventgrid", "v3.1.1"] as const;
export type Personality = (typeof PERSONALITIES)[number];

export interface StrictRules {
  readonly versions: readonly (4 | 5)[];
  readonly maxFilters: number;
  readonly maxSubscriptions: number;
  readonly maxLevels: number;
  /** Bytes of a payload, and of one that is retained. */
  readonly maxPayload: number;
  readonly maxRetained: number;
  /** One more message for a client that is away ends its session. */
  readonly maxQueued: number;
  /** What a forbidden PUBLISH is answered with; "close" = the connection ends. */
  readonly forbiddenPublish: "close" | number;
  /** The same for a filter in a SUBSCRIBE. */
  readonly forbiddenSubscribe: "close" | number;
  readonly ack: Partial<ConnectAck>;
}

const KIB = 1024;

const COMMON = {
  maxFilters: 8,
  maxSubscriptions: 50,
  maxLevels: 8,
  maxPayload: 128 * KIB,
  maxRetained: 64 * KIB,
  maxQueued: 100,
} as const;

export const STRICT_RULES: Readonly<Record<Personality, StrictRules>> = {
  aws: {
    ...COMMON,
    versions: [4, 5],
    forbiddenPublish: "close",
    forbiddenSubscribe: "close",
    ack: { receiveMaximum: 100, maximumQos: 1, maximumPacketSize: 149_504 },
  },
  eventgrid: {
    ...COMMON,
    versions: [4, 5],
    forbiddenPublish: 0x87,
    forbiddenSubscribe: 0x87,
    ack: { receiveMaximum: 4, maximumQos: 1, maximumPacketSize: 128 * KIB },
  },
  "v3.1.1": {
    ...COMMON,
    versions: [4],
    forbiddenPublish: "close",
    forbiddenSubscribe: 0x80,
    ack: {},
  },
};

/** The access list of docs/operations.md, for a broker that knows each client's groups. */
export function mayPublish(clientId: string, topic: string): boolean {
  const own = `agent/v1/node/${clientId}/`;
  if (!topic.startsWith(own)) return false;
  const rest = topic.slice(own.length);
  return (
    ["state", "reported", "event", "response"].includes(rest) ||
    ["reported/", "response/", "log/"].some((prefix) => rest.startsWith(prefix))
  );
}

export function maySubscribe(clientId: string, filter: string, groups: readonly string[]): boolean {
  const own = [`agent/v1/node/${clientId}/desired`, `agent/v1/node/${clientId}/command`];
  if (own.includes(filter) || filter === "agent/v1/trust") return true;
  if (/^agent\/v1\/blob\/[0-9a-f]{64}$/.test(filter)) return true;
  const group = /^agent\/v1\/group\/([^/+#]+)\/(?:desired|rollout|command)$/.exec(filter)?.[1];
  return group !== undefined && groups.includes(group);
}
