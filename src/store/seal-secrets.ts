// Performs: seals Secrets at rest with AES-256-GCM and the node's own key, for the database and the document files.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import { AgentError, messageOf } from "../lib/errors.ts";
import type { Random } from "../lib/random.ts";
import type { SecretKey } from "./secret-key.ts";
import { sha256 } from "../lib/system-sha256.ts";

export type Opened =
  | { readonly ok: true; readonly plain: Uint8Array }
  /** `why` reveals nothing of the content. */
  | { readonly ok: false; readonly why: string };

const MAGIC = Buffer.from("agent-sealed:v1:");
const CIPHER = "aes-256-gcm";
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = MAGIC.length + KEY_ID_BYTES + NONCE_BYTES;
const DIGEST_VERSION = "v1";

/** True for bytes with the header of a sealed value, of any key. */
export function isSealed(bytes: Uint8Array): boolean {
  return MAGIC.equals(bytes.subarray(0, MAGIC.length));
}

/** Format: magic, key id, nonce, ciphertext, tag. The label (which row, which document) is authenticated: `open` requires the same one. */
export class SecretBox {
  /** First 8 bytes of the key's sha256, hexadecimal. */
  readonly keyId: string;
  readonly #key: SecretKey;
  readonly #random: Random;
  readonly #sealing: Uint8Array;
  readonly #digesting: Uint8Array;

  constructor(key: SecretKey, random: Random) {
    this.#key = key;
    this.#random = random;
    this.keyId = sha256(key.bytes).slice(0, 2 * KEY_ID_BYTES);
    this.#sealing = derived(key.bytes, "agent/seal/v1");
    this.#digesting = derived(key.bytes, "agent/config-digest/v1");
  }

  /** What went wrong with the key at the start; the caller logs it as an error. */
  get trouble(): string | undefined {
    return this.#key.trouble;
  }

  /** What is wrong with a key that is used nevertheless. */
  get warning(): string | undefined {
    return this.#key.warning;
  }

  /** Throws AgentError `SecretKeyUnavailable` while the key is not on the disk. */
  seal(plain: Uint8Array, label: string): Uint8Array {
    this.#keepKey();
    const nonce = Uint8Array.fromHex(this.#random.hex(NONCE_BYTES));
    const cipher = createCipheriv(CIPHER, this.#sealing, nonce);
    cipher.setAAD(Buffer.from(label));
    const head = [MAGIC, Uint8Array.fromHex(this.keyId), nonce];
    return Buffer.concat([...head, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  open(sealed: Uint8Array, label: string): Opened {
    if (!isSealed(sealed) || sealed.length < HEAD_BYTES + TAG_BYTES)
      return { ok: false, why: "it is damaged" };
    const nonceAt = MAGIC.length + KEY_ID_BYTES;
    const keyId = sealed.slice(MAGIC.length, nonceAt).toHex();
    if (keyId !== this.keyId) {
      const why = `it was sealed with the key ${keyId}, and the one in use is ${this.keyId} (${this.#key.path})`;
      return { ok: false, why };
    }
    const end = sealed.length - TAG_BYTES;
    const opening = createDecipheriv(CIPHER, this.#sealing, sealed.subarray(nonceAt, HEAD_BYTES));
    opening.setAAD(Buffer.from(label));
    opening.setAuthTag(sealed.subarray(end));
    try {
      const parts = [opening.update(sealed.subarray(HEAD_BYTES, end)), opening.final()];
      return { ok: true, plain: new Uint8Array(Buffer.concat(parts)) };
    } catch {
      // Node's error has no more detail.
      return { ok: false, why: "it is damaged, or was moved here from another place" };
    }
  }

  /**
   * A fingerprint of what a container reads from ConfigMaps and Secrets: `v1:` + 8 digits of the key's id + `:` + HMAC.
   * Without the key it reveals nothing of the content and cannot confirm a guess. Digests of different keys are not
   * comparable: a lost key must not restart containers.
   */
  configDigest(text: string): string {
    const mac = createHmac("sha256", this.#digesting).update(text).digest("hex");
    return `${DIGEST_VERSION}:${this.keyId.slice(0, 8)}:${mac}`;
  }

  #keepKey(): void {
    try {
      this.#key.keep();
    } catch (cause) {
      const message = `a Secret cannot be stored without a key: ${messageOf(cause)}`;
      throw new AgentError({ reason: "SecretKeyUnavailable", message, cause });
    }
  }
}

function derived(key: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, "", purpose, 32));
}
