// The public keys of a node: one that Secrets are sealed to, and one that signs what the node says of itself. A node publishes
// them with its birth; an operator compares them once at the device, and is warned when they change.

import { fieldOf, objectType, type Decoded } from "../api/schema/codec.ts";
import { base64 } from "../api/schema/values.ts";
import { canonicalJson } from "../lib/json.ts";
import type { Sha256 } from "../lib/system-sha256.ts";
import { keyIdOf, preAuthEncoding } from "./dsse.ts";
import { complete } from "./read-published.ts";
import type { VerifySignature } from "./trust-bundle.ts";

const KEYS_TYPE = "application/vnd.agent.node-keys.v1+json";
const OPENED_TYPE = "application/vnd.agent.opened.v1+json";

const bytes = fieldOf(base64);

const PREVIOUS = objectType("PreviousNodeKey", {
  sign: bytes({ about: "Its raw public key, in base64." }),
  sig: bytes({ about: "Its signature of the present keys." }),
});

const NODE_KEYS = objectType("NodeKeys", {
  sign: bytes({ about: "Raw Ed25519 public key of the node, in base64." }),
  seal: bytes({ about: "Raw X25519 public key that Secrets are sealed to, in base64." }),
  sig: bytes({ about: "Signature of both keys and the node's name by the Ed25519 key." }),
  previous: fieldOf(complete(PREVIOUS))({
    about: "The key before the last rotation, which vouches for the present one.",
  }),
});

/** In a birth. */
export const PUBLISHED_KEYS = complete(NODE_KEYS, ["previous"]);
export type PublishedKeys = Decoded<typeof PUBLISHED_KEYS>;

/** JSON of the keys in a birth. */
export function writeKeys(keys: PublishedKeys): unknown {
  return PUBLISHED_KEYS.write(keys);
}

/** What the signatures in a birth cover. */
export function keysMessage(
  node: string,
  { sign, seal }: Pick<PublishedKeys, "sign" | "seal">,
): Uint8Array {
  const text = canonicalJson({ node, sign: sign.toBase64(), seal: seal.toBase64() });
  return preAuthEncoding(KEYS_TYPE, new TextEncoder().encode(text));
}

/** Whether the node that has the signing key has published the other one too. */
export function areWhole(node: string, keys: PublishedKeys, verify: VerifySignature): boolean {
  return verify(keys.sign, keysMessage(node, keys), keys.sig);
}

/** Whether the key that was known before vouches for the present one. */
export function isRotated(
  { node, known }: { readonly node: string; readonly known: Uint8Array },
  keys: PublishedKeys,
  verify: VerifySignature,
): boolean {
  const { previous } = keys;
  return (
    previous !== undefined &&
    previous.sign.toBase64() === known.toBase64() &&
    verify(known, keysMessage(node, keys), previous.sig)
  );
}

/** Names one key in sealed Secrets and messages. */
export function sealKeyId(seal: Uint8Array, sha256: Sha256): string {
  return keyIdOf(seal, sha256);
}

/** For people to compare: `sha256:` and 64 hex digits of the signing key. */
export function fingerprint(sign: Uint8Array, sha256: Sha256): string {
  return `sha256:${sha256(sign)}`;
}

/** What a person at the device sees of the keys. */
export interface NodeKeysView {
  /** `sha256:…` of the signing key. */
  readonly fingerprint: string;
  /** Id of the key that Secrets are sealed to. */
  readonly sealKey: string;
  /** The same of the key before; absent = none is kept. */
  readonly previousSealKey?: string;
}

/** Which sealed Secrets a node has opened. */
export interface OpenedFacts {
  readonly node: string;
  /** `node` or `group/<g>`. */
  readonly source: string;
  readonly epoch: string;
  readonly generation: number;
  /** Of the document. */
  readonly digest: string;
  /** `namespace/name`, sorted. */
  readonly secrets: readonly string[];
}

/** What the signature of an `opened` report covers. */
export function openedMessage(facts: OpenedFacts): Uint8Array {
  const { node, source, epoch, generation, digest, secrets } = facts;
  const text = canonicalJson({ node, source, epoch, generation, digest, secrets });
  return preAuthEncoding(OPENED_TYPE, new TextEncoder().encode(text));
}
