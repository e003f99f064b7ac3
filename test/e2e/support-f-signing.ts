// Keys of a fleet, and documents signed with them, by nothing but the platform's own cryptography and the DSSE envelope.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  type KeyObject,
} from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import {
  keyIdOf,
  payloadTypeOf,
  preAuthEncoding,
  writeSignedEnvelope,
  type SignedKind,
} from "../../src/protocol/dsse.ts";

export interface TestKey {
  readonly keyid: string;
  /** As it lies in trust.d. */
  readonly pem: string;
  /** As a TrustBundle names it. */
  readonly pub: string;
  readonly privateKey: KeyObject;
}

const SPKI_HEAD_BYTES = 12;

export function makeKey(): TestKey {
  return keyOf(generateKeyPairSync("ed25519").privateKey);
}

/** The private key in a file of agent fleet keygen. */
export function readKey(path: string): TestKey {
  return keyOf(createPrivateKey(readFileSync(path)));
}

function keyOf(privateKey: KeyObject): TestKey {
  const publicKey = createPublicKey(privateKey);
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(SPKI_HEAD_BYTES);
  const sha256 = (data: Uint8Array | string): string =>
    createHash("sha256").update(data).digest("hex");
  return {
    keyid: keyIdOf(raw, sha256),
    pem: String(publicKey.export({ format: "pem", type: "spki" })),
    pub: raw.toString("base64"),
    privateKey,
  };
}

/** The envelope as it goes over the wire. */
export function signed(
  message: object,
  keys: readonly TestKey[],
  kind: SignedKind = "desired",
): string {
  const payloadType = payloadTypeOf(kind);
  const payload = Buffer.from(JSON.stringify(message));
  const bytes = preAuthEncoding(payloadType, payload);
  const signatures = keys.map(({ keyid, privateKey }) => ({
    keyid,
    sig: sign(null, bytes, privateKey),
  }));
  return writeSignedEnvelope({ payloadType, payload, signatures });
}

/** Lays a public key where a node looks for it. */
export function trustKey(directory: string, name: string, { pem }: TestKey): void {
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  writeFileSync(join(directory, name), pem, { mode: 0o644 });
}
