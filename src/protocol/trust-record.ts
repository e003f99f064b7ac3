// What the node must never forget about trust, whatever becomes of its database (MQTT.md §2).

import type { PublicKey } from "./trust-bundle.ts";

export interface TrustRecord {
  /** Documents must be signed, for good; only `agent trust reset` takes it back. */
  readonly required: boolean;
  /** The newest accepted TrustBundle, as its signed envelope came over the wire; absent = none yet. */
  readonly bundle?: { readonly version: number; readonly envelope: Uint8Array };
}

/** What lies in `trustPath`. */
export interface RootKeys {
  readonly keys: readonly PublicKey[];
  /** Sentences: a directory that cannot be read, a file that is no public Ed25519 key. */
  readonly problems: readonly string[];
}

/** The checkpoint. What `write` has returned from is on the disk; it throws when it is not. */
export interface TrustStore {
  /** A record that is there and cannot be read says `required`. Never throws. */
  read(): TrustRecord;
  write(record: TrustRecord): void;
}

/** Whether an Ed25519 signature (64 bytes) over the message was made with the private half of `key`. Never throws. */
export type VerifySignature = (
  key: PublicKey,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean;
