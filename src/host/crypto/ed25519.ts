// Performs: Ed25519 (RFC 8032) with raw 32-byte public keys, and their PEM form in files.

import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { bytesOfBase64 } from "../../api/validation/base64.ts";
import type { PublicKey, VerifySignature } from "../../protocol/trust-bundle.ts";

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** SubjectPublicKeyInfo of Ed25519 (RFC 8410) up to the key itself. */
const SPKI_HEAD = Uint8Array.fromHex("302a300506032b6570032100");
/** PrivateKeyInfo of Ed25519 up to the seed itself. */
const PRIVATE_HEAD = Uint8Array.fromHex("302e020100300506032b657004220420");
/** Exactly one block; text around it, such as a comment, is ignored. */
const PEM = /^[^]*?-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----[^]*$/;
const BEGIN = /-----BEGIN /g;

/** False for a key or a signature of the wrong length. */
export const verifyEd25519: VerifySignature = (key, message, signature) => {
  if (key.length !== KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false;
  try {
    const spki = Buffer.concat([SPKI_HEAD, key]);
    const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" });
    return verify(null, message, publicKey, signature);
  } catch {
    // The library throws when the 32 bytes are no point of the curve.
    return false;
  }
};

export interface Ed25519Key {
  /** Raw, 32 bytes. */
  readonly publicKey: PublicKey;
  readonly sign: (message: Uint8Array) => Uint8Array;
}

/** `seed`: any 32 random bytes, the private key. */
export function ed25519Key(seed: Uint8Array): Ed25519Key {
  const der = Buffer.concat([PRIVATE_HEAD, seed]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  return {
    publicKey: new Uint8Array(spki.subarray(SPKI_HEAD.length)),
    sign: (message) => new Uint8Array(sign(null, message, key)),
  };
}

/** The raw key of a PEM text with one Ed25519 public key in it; undefined = anything else. Never throws. */
export function publicKeyOfPem(text: string): PublicKey | undefined {
  const [, body] = PEM.exec(text) ?? [];
  if (body === undefined || text.match(BEGIN)?.length !== 1) return undefined;
  const spki = bytesOfBase64(body.replace(/\s/g, ""));
  if (spki?.length !== SPKI_HEAD.length + KEY_BYTES) return undefined;
  const isEd25519 = SPKI_HEAD.every((byte, index) => spki[index] === byte);
  return isEd25519 ? spki.slice(SPKI_HEAD.length) : undefined;
}
