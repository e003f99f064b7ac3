// Verifies the signatures of a message: which of them count, with the keys in force, inside role and scope.

import {
  keyIdOf,
  payloadTypeOf,
  preAuthEncoding,
  type SignedEnvelope,
  type SignedKind,
} from "../protocol/dsse.ts";
import type {
  PublicKey,
  SigningKey,
  SigningRole,
  VerifySignature,
} from "../protocol/trust-bundle.ts";
import { scopeOf, scopeError, type RootKey, type Signer, type Addressee } from "./key-scope.ts";
import { quoted } from "../lib/short-text.ts";
import type { Sha256 } from "../lib/system-sha256.ts";

/** The keys in force. */
export interface Keys {
  readonly roots: readonly RootKey[];
  /** Absent = there is no TrustBundle: the roots sign everything. */
  readonly signers?: readonly Signer[];
}

export interface SignedMessage {
  readonly envelope: SignedEnvelope;
  readonly role: SigningRole;
  readonly to: Addressee;
}

export type SignatureVerdict =
  | {
      readonly type: "Signed";
      /** One of the signatures is of a root key: the document may name a predecessor of its epoch. */
      readonly byRoot: boolean;
    }
  /** A sentence with the remedy. */
  | { readonly type: "Refused"; readonly message: string };

const NAMED = 4;
const MAX_TYPE = 80;

export function rootKeysOf(keys: readonly PublicKey[], sha256: Sha256): readonly RootKey[] {
  return keys.map((pub) => ({ id: keyIdOf(pub, sha256), pub }));
}

export function signersOf(keys: readonly SigningKey[], sha256: Sha256): readonly Signer[] {
  return keys.map((key) => ({ ...key, ...scopeOf(key), id: keyIdOf(key.pub, sha256) }));
}

/** One signature that counts is enough, regardless of the others. */
export function judgeSignature(
  message: SignedMessage,
  keys: Keys,
  verify: VerifySignature,
): SignatureVerdict {
  const { envelope, role, to } = message;
  const wrongType = typeError(envelope, role);
  if (wrongType !== undefined) return refused(wrongType);
  const [root] = verifiedBy(envelope, keys.roots, verify);
  const good: SignatureVerdict = { type: "Signed", byRoot: root !== undefined };
  if (keys.signers === undefined)
    return root === undefined ? refused(unverified(envelope, keys.roots)) : good;
  const errors = verifiedBy(envelope, keys.signers, verify).map((key) => scopeError(key, role, to));
  if (errors.includes(undefined)) return good;
  const [outOfScope] = errors;
  if (outOfScope !== undefined) return refused(outOfScope);
  return refused(root === undefined ? unverified(envelope, keys.signers) : onlyRoot(root));
}

function onlyRoot({ id }: RootKey): string {
  return `key ${id} is a root key, which signs only the next TrustBundle; sign with a key that the present TrustBundle names`;
}

function refused(message: string): SignatureVerdict {
  return { type: "Refused", message };
}

/** Why the payload type is wrong: the signer meant it for another purpose. */
export function typeError({ payloadType }: SignedEnvelope, kind: SignedKind): string | undefined {
  const expected = payloadTypeOf(kind);
  if (payloadType === expected) return undefined;
  return `the payload type is ${quoted(payloadType, MAX_TYPE)}, must be ${quoted(expected, MAX_TYPE)}; sign it as that`;
}

/** The keys that made one of the signatures. */
export function verifiedBy<T extends RootKey>(
  { payloadType, payload, signatures }: SignedEnvelope,
  keys: readonly T[],
  verify: VerifySignature,
): readonly T[] {
  const named = keys.filter(({ id }) => signatures.some(({ keyid }) => keyid === id));
  if (named.length === 0) return [];
  const bytes = preAuthEncoding(payloadType, payload);
  const results = new Map<string, boolean>();
  return named.filter(({ id, pub }) => {
    // A bundle may list one key several times, each with another scope.
    const known = results.get(pub.toHex());
    if (known !== undefined) return known;
    const isGood = signatures.some(({ keyid, sig }) => keyid === id && verify(pub, bytes, sig));
    results.set(pub.toHex(), isGood);
    return isGood;
  });
}

function unverified({ signatures }: SignedEnvelope, keys: readonly RootKey[]): string {
  const ids = [...new Set(signatures.map(({ keyid }) => keyid))];
  const known = ids.filter((id) => keys.some((key) => key.id === id));
  if (known.length > 0)
    return `the signature of key ${known.slice(0, NAMED).join(", ")} does not match this payload; it was changed after signing, or signed with another key: sign it again`;
  return `unknown key ${ids.slice(0, NAMED).join(", ")}; sign with one of ${keys.length === 0 ? "no keys" : trusted(keys)}, or make the node trust that key`;
}

function trusted(keys: readonly RootKey[]): string {
  const ids = [...new Set(keys.map(({ id }) => id))];
  const more = ids.length > NAMED ? ` and ${ids.length - NAMED} more` : "";
  return ids.slice(0, NAMED).join(", ") + more;
}
