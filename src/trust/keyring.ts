// Which keys are in force: those of trust.d, those of the accepted TrustBundle, or none that can be used.

import {
  decodeTrustBundle,
  type TrustBundle,
  type RootKeys,
  type TrustRecord,
} from "../protocol/trust-bundle.ts";
import { rootKeysOf, signersOf, type Keys } from "./verify-signature.ts";
import { digestOf, readSignedMessage } from "../protocol/dsse.ts";
import type { Sha256 } from "../lib/system-sha256.ts";

/** Everything about trust that judging a message needs. */
export interface Keyring extends Keys {
  /** Unsigned messages do not count. */
  readonly required: boolean;
  /** Why no key can be used, with the remedy; absent = at least one can. */
  readonly unusable?: string;
  /** Wall-clock milliseconds; documents issued before do not count. */
  readonly notBefore?: number;
  /** Version of the accepted TrustBundle, readable or not; 0 = there is none. */
  readonly bundleVersion: number;
  /** `sha256:…` of the accepted bundle's payload. */
  readonly bundleDigest?: string;
}

export interface KeyringInput {
  readonly record: TrustRecord;
  /** The keys in `trustPath`. */
  readonly found: RootKeys;
  readonly trustPath: string;
  readonly sha256: Sha256;
}

/** The message of a 401 of a node that cannot verify any signature. */
export function noTrustedKey(unusable: string): string {
  return `NoTrustedKey: no signature can be verified: ${unusable}`;
}

/** Signatures are not verified again: what was accepted stays accepted. Never throws. */
export function keyringOf({ record, found, trustPath, sha256 }: KeyringInput): Keyring {
  const kept = record.bundle;
  const required = record.required || kept !== undefined;
  if (kept === undefined) {
    const roots = rootKeysOf(found.keys, sha256);
    const ring = { required, roots, bundleVersion: 0 };
    return roots.length > 0 ? ring : { ...ring, unusable: noRoot(found, trustPath, required) };
  }
  const bundleVersion = kept.version;
  const read = readKept(kept.envelope);
  if (read === undefined) {
    // The keys in trust.d may be those that the bundle has replaced.
    const unusable = `the accepted TrustBundle of version ${bundleVersion} cannot be read; update the agent, or run "agent trust reset" on the node`;
    return { required, roots: [], signers: [], bundleVersion, unusable };
  }
  const { bundle, payload } = read;
  return {
    required,
    roots: rootKeysOf(bundle.root, sha256),
    signers: signersOf(bundle.keys, sha256),
    ...(bundle.notBefore === undefined ? {} : { notBefore: bundle.notBefore }),
    bundleVersion,
    bundleDigest: digestOf(payload, sha256),
    ...(bundle.keys.length > 0
      ? {}
      : {
          unusable: `the accepted TrustBundle of version ${bundleVersion} names no key; publish a newer one that does`,
        }),
  };
}

function readKept(
  envelope: Uint8Array,
): { readonly bundle: TrustBundle; readonly payload: Uint8Array } | undefined {
  const message = readSignedMessage(envelope);
  if (message.type !== "Signed") return undefined;
  const { payload } = message.envelope;
  const decoded = decodeTrustBundle(payload);
  return decoded.ok ? { bundle: decoded.value, payload } : undefined;
}

function noRoot({ problems }: RootKeys, trustPath: string, required: boolean): string {
  const why = problems.length === 0 ? "" : ` (${problems.slice(0, 3).join("; ")})`;
  const wayBack = required ? ', or run "agent trust reset" on the node' : "";
  return `there is no usable root key in ${trustPath}${why}; put one there as *.pub${wayBack}`;
}
