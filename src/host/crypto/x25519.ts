// Performs: X25519 (RFC 7748) with raw 32-byte keys.

import { createPrivateKey, createPublicKey, diffieHellman } from "node:crypto";

const KEY_BYTES = 32;
/** PrivateKeyInfo and SubjectPublicKeyInfo of X25519 (RFC 8410) up to the key itself. */
const PRIVATE_HEAD = Uint8Array.fromHex("302e020100300506032b656e04220420");
const PUBLIC_HEAD = Uint8Array.fromHex("302a300506032b656e032100");

/** Both keys raw. */
export interface X25519KeyPair {
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** `privateKey`: any 32 random bytes. */
export function x25519KeyPair(privateKey: Uint8Array): X25519KeyPair {
  const spki = createPublicKey(keyObject(privateKey)).export({ format: "der", type: "spki" });
  return { privateKey, publicKey: new Uint8Array(spki.subarray(PUBLIC_HEAD.length)) };
}

/** undefined = the other key has another length, or is a point that gives a secret of zeros. */
export function sharedSecret(privateKey: Uint8Array, other: Uint8Array): Uint8Array | undefined {
  if (other.length !== KEY_BYTES) return undefined;
  try {
    const spki = Buffer.concat([PUBLIC_HEAD, other]);
    const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" });
    const secret = diffieHellman({ privateKey: keyObject(privateKey), publicKey });
    return secret.every((byte) => byte === 0) ? undefined : new Uint8Array(secret);
  } catch {
    // The library refuses points of low order.
    return undefined;
  }
}

function keyObject(privateKey: Uint8Array) {
  const key = Buffer.concat([PRIVATE_HEAD, privateKey]);
  return createPrivateKey({ key, format: "der", type: "pkcs8" });
}
