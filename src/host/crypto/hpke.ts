// Performs: HPKE (RFC 9180) in base mode, one message to one public key: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.

import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import type { Random } from "../../lib/random.ts";
import { sharedSecret, x25519KeyPair, type X25519KeyPair } from "./x25519.ts";

const CIPHER = "aes-128-gcm";
const KEY_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SECRET_BYTES = 32;
const PUBLIC_BYTES = 32;
/** How much longer a sealed message is than its plain text. */
export const HPKE_BYTES = PUBLIC_BYTES + TAG_BYTES;

const VERSION = Buffer.from("HPKE-v1");
const KEM = Buffer.concat([Buffer.from("KEM"), Buffer.from("0020", "hex")]);
const SUITE = Buffer.concat([Buffer.from("HPKE"), Buffer.from("002000010001", "hex")]);
const BASE_MODE = Buffer.from([0]);
const NOTHING = Buffer.alloc(0);

interface HpkeContext {
  /** What key and message are for; `openHpke` requires the same. */
  readonly info: Uint8Array;
  readonly random: Pick<Random, "hex">;
}

/** The public key of the message, its ciphertext and its tag, one after the other. Throws Error for an unusable public key. */
export function sealHpke(
  recipient: Uint8Array,
  plain: Uint8Array,
  { info, random }: HpkeContext,
): Uint8Array {
  const own = x25519KeyPair(Uint8Array.fromHex(random.hex(PUBLIC_BYTES)));
  const dh = sharedSecret(own.privateKey, recipient);
  if (dh === undefined) throw new Error("the public key of the recipient is none of X25519");
  const { key, nonce } = schedule(encapsulated(dh, own.publicKey, recipient), info);
  const cipher = createCipheriv(CIPHER, key, nonce);
  const parts = [cipher.update(plain), cipher.final()];
  return new Uint8Array(Buffer.concat([own.publicKey, ...parts, cipher.getAuthTag()]));
}

/** undefined = it was sealed to another key or for another purpose, or is damaged. Never throws. */
export function openHpke(
  recipient: X25519KeyPair,
  sealed: Uint8Array,
  info: Uint8Array,
): Uint8Array | undefined {
  if (sealed.length < HPKE_BYTES) return undefined;
  const sender = sealed.subarray(0, PUBLIC_BYTES);
  const dh = sharedSecret(recipient.privateKey, sender);
  if (dh === undefined) return undefined;
  const { key, nonce } = schedule(encapsulated(dh, sender, recipient.publicKey), info);
  const end = sealed.length - TAG_BYTES;
  try {
    const decipher = createDecipheriv(CIPHER, key, nonce);
    decipher.setAuthTag(sealed.subarray(end));
    const plain = [decipher.update(sealed.subarray(PUBLIC_BYTES, end)), decipher.final()];
    return new Uint8Array(Buffer.concat(plain));
  } catch {
    // Node's error has no more detail.
    return undefined;
  }
}

/** The shared secret of the key encapsulation. */
function encapsulated(dh: Uint8Array, sender: Uint8Array, recipient: Uint8Array): Uint8Array {
  const prk = extract(KEM, "eae_prk", { salt: NOTHING, secret: dh });
  const context = Buffer.concat([sender, recipient]);
  return expand(prk, label(KEM, "shared_secret", SECRET_BYTES), { context, bytes: SECRET_BYTES });
}

/** Key and nonce of the first and only message. */
function schedule(
  secret: Uint8Array,
  info: Uint8Array,
): { readonly key: Uint8Array; readonly nonce: Uint8Array } {
  const noPsk = extract(SUITE, "psk_id_hash", { salt: NOTHING, secret: NOTHING });
  const infoHash = extract(SUITE, "info_hash", { salt: NOTHING, secret: info });
  const context = Buffer.concat([BASE_MODE, noPsk, infoHash]);
  const prk = extract(SUITE, "secret", { salt: secret, secret: NOTHING });
  return {
    key: expand(prk, label(SUITE, "key", KEY_BYTES), { context, bytes: KEY_BYTES }),
    nonce: expand(prk, label(SUITE, "base_nonce", NONCE_BYTES), { context, bytes: NONCE_BYTES }),
  };
}

/** LabeledExtract of the RFC. */
function extract(
  suite: Uint8Array,
  name: string,
  { salt, secret }: { readonly salt: Uint8Array; readonly secret: Uint8Array },
): Uint8Array {
  const labelled = [VERSION, suite, Buffer.from(name), secret];
  return createHmac("sha256", salt).update(Buffer.concat(labelled)).digest();
}

function label(suite: Uint8Array, name: string, bytes: number): Uint8Array {
  return Buffer.concat([Buffer.from([0, bytes]), VERSION, suite, Buffer.from(name)]);
}

/** LabeledExpand of the RFC, of at most the 32 bytes of one round. */
function expand(
  prk: Uint8Array,
  labelled: Uint8Array,
  { context, bytes }: { readonly context: Uint8Array; readonly bytes: number },
): Uint8Array {
  const round = createHmac("sha256", prk)
    .update(labelled)
    .update(context)
    .update(Buffer.from([1]));
  return round.digest().subarray(0, bytes);
}
