// Real Ed25519 keys, and messages signed with them as an operator's tool would.

import { generateKeyPairSync, sign, type KeyObject } from "node:crypto";

import {
  keyIdOf,
  payloadTypeOf,
  preAuthEncoding,
  writeSignedEnvelope,
  type SignedEnvelope,
  type SignedKind,
} from "../../src/protocol/dsse.ts";
import type { PublicKey } from "../../src/protocol/trust-bundle.ts";
import { sha256 } from "../unit/api/digest.ts";

export interface Signer {
  readonly pub: PublicKey;
  readonly id: string;
  /** The public key as it stands in a TrustBundle. */
  readonly text: string;
  readonly secret: KeyObject;
}

export function aSigner(): Signer {
  const { publicKey, privateKey: secret } = generateKeyPairSync("ed25519");
  const pub = new Uint8Array(publicKey.export({ format: "der", type: "spki" }).subarray(-32));
  return { pub, id: keyIdOf(pub, sha256), text: pub.toBase64(), secret };
}

export function anEnvelope(
  kind: SignedKind,
  payload: string,
  signers: readonly Signer[],
): SignedEnvelope {
  const payloadType = payloadTypeOf(kind);
  const bytes = new TextEncoder().encode(payload);
  const signed = preAuthEncoding(payloadType, bytes);
  const signatures = signers.map(({ id, secret }) => ({
    keyid: id,
    sig: new Uint8Array(sign(null, signed, secret)),
  }));
  return { payloadType, payload: bytes, signatures };
}

/** The message as it goes over the wire. */
export function signed(kind: SignedKind, payload: string, ...signers: readonly Signer[]): string {
  return writeSignedEnvelope(anEnvelope(kind, payload, signers));
}

export function aBundle(changes: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ version: 1, ...changes });
}
