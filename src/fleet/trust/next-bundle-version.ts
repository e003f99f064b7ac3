// The version of the next TrustBundle: the successor of the retained one if a root key signed that, and 1 if the broker
// retains none. Refuses versions that are too old or too high.

import { CliError, UsageError } from "../../cli/exit-codes.ts";
import { memberOf } from "../../lib/json.ts";
import { payloadTypeOf, readSignedEnvelope } from "../../protocol/dsse.ts";
import { wireObject } from "../../protocol/read-published.ts";
import {
  decodeTrustBundle,
  type TrustBundle,
  type VerifySignature,
} from "../../protocol/trust-bundle.ts";
import type { RootKey } from "../../trust/key-scope.ts";
import { verifiedBy } from "../../trust/verify-signature.ts";
import { HIGHEST_VERSION } from "../document/next-generation.ts";

/** The retained bundle; its version counts only if a root key signed it. */
export interface RetainedBundle {
  /** 0 = none, or nothing that a node would accept. */
  readonly version: number;
  readonly isVerified: boolean;
}

/** undefined = nothing is retained. */
export function retainedBundle(
  retained: Uint8Array | undefined,
  roots: readonly RootKey[],
  verify: VerifySignature,
): RetainedBundle | undefined {
  if (retained === undefined) return undefined;
  const envelope = readSignedEnvelope(wireObject(retained));
  if (!envelope.ok) return { version: 0, isVerified: false };
  const bundle = decodeTrustBundle(envelope.value.payload);
  if (!bundle.ok) return { version: 0, isVerified: false };
  const signers = verifiedBy(envelope.value, roots, verify);
  const isOfTrust = envelope.value.payloadType === payloadTypeOf("trust");
  return { version: bundle.value.version, isVerified: signers.length > 0 && isOfTrust };
}

/**
 * undefined = the version that `value` has. An unverified version on the broker must not decide what a root key signs:
 * throws CliError.
 */
export function nextBundleVersion(
  value: unknown,
  before: RetainedBundle | undefined,
): number | undefined {
  if (before === undefined) return 1;
  if (before.isVerified) return before.version + 1;
  if (isVersioned(value)) return undefined;
  throw new CliError(
    "what the broker holds as TrustBundle is signed by none of the keys named with --key, so its version is not believed; name the version with --bundle-version",
  );
}

export function isVersioned(value: unknown): boolean {
  return memberOf(value, "version") !== undefined;
}

/** Throws CliError. */
export function refuseOlder({ version }: TrustBundle, before: RetainedBundle): void {
  if (version <= before.version)
    throw new CliError(
      `version ${version} is not newer than version ${before.version} on the broker; nodes would refuse it`,
    );
}

/** Throws UsageError. */
export function refuseTooHigh({ version }: TrustBundle): void {
  if (version > HIGHEST_VERSION)
    throw new UsageError(
      `version ${version} is too high: it leaves no room for successors; at most ${HIGHEST_VERSION} is accepted`,
    );
}
