// How both sides of a tunnel agree on its keys: the operator's signed command has a key that is used once, the node answers
// with one of its own, and signs both. The broker cannot stand in between, and a recording opens with no key that is kept.

import { fieldOf, objectType, type Decoded } from "../../api/schema/codec.ts";
import { base64 } from "../../api/schema/values.ts";
import { canonicalJson } from "../../lib/json.ts";
import { preAuthEncoding } from "../dsse.ts";
import { complete } from "../read-published.ts";

const SESSION_TYPE = "application/vnd.agent.session.v1+json";
/** Raw X25519 keys. */
export const TUNNEL_KEY_BYTES = 32;

export interface HandshakeFacts {
  readonly node: string;
  /** Of the command. */
  readonly id: string;
  readonly operatorKey: Uint8Array;
  readonly nodeKey: Uint8Array;
}

/** What the node signs, and what the keys depend on. */
export function handshakeMessage({ node, id, operatorKey, nodeKey }: HandshakeFacts): Uint8Array {
  const text = canonicalJson({
    node,
    id,
    operatorKey: operatorKey.toBase64(),
    nodeKey: nodeKey.toBase64(),
  });
  return preAuthEncoding(SESSION_TYPE, new TextEncoder().encode(text));
}

/** The data of the node's answer. */
export const TUNNEL_ANSWER = complete(
  objectType("TunnelAnswer", {
    key: fieldOf(base64)({ about: "Raw X25519 public key of the node, used once, in base64." }),
    sig: fieldOf(base64)({ about: "Signature of both keys by the node's own key." }),
  }),
);
export type TunnelAnswer = Decoded<typeof TUNNEL_ANSWER>;

/** The level of a topic that stands for a command: lower case. */
export function tunnelName(commandId: string): string {
  return commandId.toLowerCase();
}
