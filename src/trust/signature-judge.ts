// Which signatures on a message count: verified with the keys in force, inside role and scope.

import type { Sha256 } from "../api/decode/decode-context.ts";
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
import { shortText } from "../lib/short-text.ts";

/** A key and its id in signatures. */
export interface RootKey {
  readonly id: string;
  readonly pub: PublicKey;
}

/** With an explicit scope: an absent list means all, an empty one none. */
export type Signer = SigningKey & RootKey;

/** The keys in force. */
export interface Keys {
  readonly roots: readonly RootKey[];
  /** Absent = there is no TrustBundle: the roots sign everything. */
  readonly signers?: readonly Signer[];
}

/** The target of a message: this node, or one of its groups. */
export type Addressee = { readonly node: string } | { readonly group: string };

export interface SignedMessage {
  readonly envelope: SignedEnvelope;
  readonly role: SigningRole;
  readonly to: Addressee;
}

export type SignatureVerdict =
  | {
      readonly type: "Signed";
      readonly keyId: string;
      /** One of the signatures is of a root key: the document may name a predecessor of its epoch. */
      readonly byRoot: boolean;
    }
  /** A sentence with the remedy. */
  | { readonly type: "Refused"; readonly message: string };

const NAMED = 4;
const MAX_WORD = 80;

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
  if (wrongType !== undefined) return { type: "Refused", message: wrongType };
  const rootIds = verifiedBy(envelope, keys.roots, verify).map(({ id }) => id);
  const [root] = rootIds;
  const byRoot = root !== undefined;
  if (keys.signers === undefined)
    return byRoot
      ? { type: "Signed", keyId: root, byRoot }
      : { type: "Refused", message: unverified(envelope, keys.roots) };
  const verified = verifiedBy(envelope, keys.signers, verify);
  const entitled = verified.find((key) => scopeError(key, role, to) === undefined);
  if (entitled !== undefined) return { type: "Signed", keyId: entitled.id, byRoot };
  const [outOfScope] = verified.flatMap((key) => scopeError(key, role, to) ?? []);
  if (outOfScope !== undefined) return { type: "Refused", message: outOfScope };
  if (byRoot) {
    const text = `key ${root} is a root key, which signs only the next TrustBundle; sign with a key that the present TrustBundle names`;
    return { type: "Refused", message: text };
  }
  return { type: "Refused", message: unverified(envelope, keys.signers) };
}

/** Why the payload type is wrong: the signer meant it for another purpose. */
export function typeError({ payloadType }: SignedEnvelope, kind: SignedKind): string | undefined {
  const expected = payloadTypeOf(kind);
  if (payloadType === expected) return undefined;
  return `the payload type is ${quoted(payloadType)}, must be ${quoted(expected)}; sign it as that`;
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

/** A key that is limited to some nodes may sign for no group, and the other way round. */
function scopeOf({ nodes, groups }: SigningKey): Pick<SigningKey, "nodes" | "groups"> {
  if (nodes === undefined && groups === undefined) return {};
  return { nodes: nodes ?? [], groups: groups ?? [] };
}

function scopeError(key: Signer, role: SigningRole, to: Addressee): string | undefined {
  const { id, roles, nodes, groups } = key;
  if (!roles.includes(role))
    return `key ${id} has the role ${roles.join(", ")}, not ${role}; sign with another key, or publish a TrustBundle that gives it the role`;
  const isInside =
    "node" in to
      ? (nodes?.some((glob) => matchesGlob(glob, to.node)) ?? true)
      : (groups?.includes(to.group) ?? true);
  if (isInside) return undefined;
  const whom = "node" in to ? `node ${to.node}` : `group ${to.group}`;
  return `key ${id} may not sign for ${whom}; sign with another key, or publish a TrustBundle that widens its scope`;
}

/** `*` is any text, also none; every other character is itself. */
export function matchesGlob(glob: string, name: string): boolean {
  const [first = "", ...rest] = glob.split("*");
  const last = rest.pop();
  if (last === undefined) return glob === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
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

function quoted(text: string): string {
  return JSON.stringify(shortText(text, MAX_WORD));
}
