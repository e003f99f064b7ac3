// Whether a received TrustBundle replaces the one in force; a refusal changes nothing.

import {
  decodeTrustBundle,
  type TrustBundle,
  type VerifySignature,
} from "../protocol/trust-bundle.ts";
import { digestOf, type SignedEnvelope, readSignedMessage } from "../protocol/dsse.ts";
import { rootKeysOf, typeError, verifiedBy } from "./verify-signature.ts";
import { noTrustedKey, type Keyring } from "./keyring.ts";
import { DOCUMENT_LIMITS } from "../api/yaml/text-limits.ts";
import type { RootKey } from "./key-scope.ts";
import type { Sha256 } from "../lib/system-sha256.ts";

export interface BundleArrival {
  /** As it came over the wire. */
  readonly message: Uint8Array;
  readonly keyring: Keyring;
  readonly verify: VerifySignature;
  readonly sha256: Sha256;
}

export type BundleVerdict =
  /** To be stored before it takes effect. */
  | { readonly type: "Accepted"; readonly bundle: TrustBundle; readonly digest: string }
  | { readonly type: "Unchanged" }
  | BundleRefusal;

export interface BundleRefusal {
  readonly type: "Refused";
  readonly code: 400 | 401 | 409 | 410 | 413 | 417;
  readonly digest: string;
  /** A sentence with the remedy. */
  readonly message: string;
}

/** The payload is parsed only after the signature of a root key in force was verified. Never throws. */
export function judgeTrustBundle(arrival: BundleArrival): BundleVerdict {
  const { message, sha256 } = arrival;
  const refuse = refusalOf(digestOf(message, sha256));
  if (message.length > DOCUMENT_LIMITS.bytes)
    return refuse(
      413,
      `it has ${message.length} bytes, at most ${DOCUMENT_LIMITS.bytes} are accepted; make it smaller`,
    );
  if (message.length === 0)
    return refuse(
      417,
      "an empty payload does not revoke the TrustBundle; publish the newest TrustBundle again",
    );
  const read = readSignedMessage(message);
  switch (read.type) {
    case "Plain":
      return refuse(401, "it is not signed; publish the signed envelope");
    case "Broken":
      return refuse(401, `its envelope cannot be read: ${sentence(read.errors)}`);
    case "Signed":
      return judgeEnvelope(read.envelope, arrival);
  }
}

function judgeEnvelope(envelope: SignedEnvelope, arrival: BundleArrival): BundleVerdict {
  const { keyring, verify, sha256 } = arrival;
  const { payload } = envelope;
  const digest = digestOf(payload, sha256);
  // It was verified when it was accepted; its signers may have been removed since.
  if (digest === keyring.bundleDigest) return { type: "Unchanged" };
  const refuse = refusalOf(digest);
  const { roots, unusable, bundleVersion } = keyring;
  const wrongType = typeError(envelope, "trust");
  if (wrongType !== undefined) return refuse(401, wrongType);
  if (roots.length === 0) return refuse(401, noTrustedKey(unusable ?? "there is no root key"));
  if (verifiedBy(envelope, roots, verify).length === 0)
    return refuse(
      401,
      `it is not signed by a root key in force (${ids(roots)}); sign it with one of them`,
    );
  const decoded = decodeTrustBundle(payload);
  if (!decoded.ok) return refuse(400, sentence(decoded.errors));
  const bundle = decoded.value;
  if (bundle.version < bundleVersion)
    return refuse(
      410,
      `its version ${bundle.version} is older than the accepted version ${bundleVersion}; publish it as version ${bundleVersion + 1} or higher`,
    );
  if (bundle.version === bundleVersion)
    return refuse(
      409,
      `version ${bundleVersion} was accepted with other content; publish the change as version ${bundleVersion + 1} or higher`,
    );
  const unproven = unprovenRoots(bundle, envelope, arrival);
  if (unproven !== undefined) return refuse(401, unproven);
  return { type: "Accepted", bundle, digest };
}

function refusalOf(
  digest: string,
): (code: BundleRefusal["code"], message: string) => BundleRefusal {
  return (code, message) => ({ type: "Refused", code, digest, message });
}

/** Root keys whose private half is lost would lock the fleet out. So a new root key must have signed or, if keys were only
 * removed, a remaining one. */
function unprovenRoots(
  { root }: TrustBundle,
  envelope: SignedEnvelope,
  { keyring, verify, sha256 }: BundleArrival,
): string | undefined {
  const next = rootKeysOf(root, sha256);
  const before = new Set(keyring.roots.map(({ pub }) => pub.toHex()));
  const come = next.filter(({ pub }) => !before.has(pub.toHex()));
  const witnesses = come.length > 0 ? come : next;
  if (verifiedBy(envelope, witnesses, verify).length > 0) return undefined;
  const sameSize = new Set(next.map(({ pub }) => pub.toHex())).size === before.size;
  if (come.length === 0 && sameSize) return undefined;
  return `it changes the root keys and none of the new ones has signed it; add a signature of ${ids(witnesses)}`;
}

function ids(keys: readonly RootKey[]): string {
  return [...new Set(keys.map(({ id }) => id))].join(", ");
}

function sentence(errors: readonly { readonly path: string; readonly message: string }[]): string {
  return errors
    .slice(0, 3)
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`))
    .join("; ");
}
