// Performs: AES-256-GCM with a nonce that counts: a key encrypts each number once.

import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

interface AesContext {
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** Of the message under this key; the caller never uses one twice. */
  readonly number: number;
  /** Authenticated, not encrypted: `openAes` requires the same. */
  readonly label: Uint8Array;
}

/** Ciphertext and tag. */
export function sealAes(plain: Uint8Array, { key, number, label }: AesContext): Uint8Array {
  const cipher = createCipheriv(CIPHER, key, nonceOf(number));
  cipher.setAAD(label);
  const parts = [cipher.update(plain), cipher.final()];
  return new Uint8Array(Buffer.concat([...parts, cipher.getAuthTag()]));
}

/** undefined = another key, number or label, or damage. Never throws. */
export function openAes(
  sealed: Uint8Array,
  { key, number, label }: AesContext,
): Uint8Array | undefined {
  const end = sealed.length - TAG_BYTES;
  if (end < 0 || key.length !== KEY_BYTES) return undefined;
  try {
    const decipher = createDecipheriv(CIPHER, key, nonceOf(number));
    decipher.setAAD(label);
    decipher.setAuthTag(sealed.subarray(end));
    const parts = [decipher.update(sealed.subarray(0, end)), decipher.final()];
    return new Uint8Array(Buffer.concat(parts));
  } catch {
    // Node's error has no more detail.
    return undefined;
  }
}

/** HKDF-SHA256 (RFC 5869): 32 bytes for one purpose. */
export function derivedKey(
  secret: Uint8Array,
  purpose: string,
  salt: Uint8Array = new Uint8Array(),
): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, salt, purpose, KEY_BYTES));
}

function nonceOf(number: number): Uint8Array {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeBigUInt64BE(BigInt(number), NONCE_BYTES - 8);
  return nonce;
}
