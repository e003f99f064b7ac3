// Who may sign what: the document on the trust topic (MQTT.md §2).

import type { SignedKind } from "./dsse.ts";

/** A raw Ed25519 public key, 32 bytes; on the wire in base64. */
export type PublicKey = Uint8Array;

export type SigningRole = Exclude<SignedKind, "trust">;

/** Without `nodes` and `groups` it speaks to all of both; with one of them to nobody but those. */
export interface SigningKey {
  readonly pub: PublicKey;
  readonly roles: readonly SigningRole[];
  /** Globs (`*` = any text) of node names. */
  readonly nodes?: readonly string[];
  /** Names of groups. */
  readonly groups?: readonly string[];
}

export interface TrustBundle {
  /** ≥ 1, strictly increasing. */
  readonly version: number;
  /** Wall ms: what was issued before counts no more. */
  readonly notBefore?: number;
  /** They sign the next bundle; never empty. */
  readonly root: readonly PublicKey[];
  /** They sign everything else. */
  readonly keys: readonly SigningKey[];
}
