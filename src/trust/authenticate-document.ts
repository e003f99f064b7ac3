// Whether a document, signed or unsigned, is authentic: checks its envelope and signature before anything of it is
// parsed.

import {
  type AcceptedDocument,
  groupOf,
  type DocumentAddress,
} from "../protocol/desired-document.ts";
import {
  digestOf,
  payloadTypeOf,
  type SignedEnvelope,
  readSignedMessage,
} from "../protocol/dsse.ts";
import { judgeSignature } from "./verify-signature.ts";
import { noTrustedKey, type Keyring } from "./keyring.ts";
import type { VerifySignature } from "../protocol/trust-bundle.ts";
import type { Addressee } from "./key-scope.ts";
import type { Sha256 } from "../lib/system-sha256.ts";

/** The keys that the node trusts at present. */
export interface Trusted {
  readonly keyring: Keyring;
  readonly verify: VerifySignature;
}

export interface OpenedDocument {
  readonly type: "Opened";
  /** The document itself. */
  readonly payload: Uint8Array;
  readonly digest: string;
  /** Absent = it is not signed, and need not be. */
  readonly signature?: { readonly byRoot: boolean };
}

export type Opening =
  | OpenedDocument
  /** Equal, byte for byte, to the document that was verified and accepted. */
  | { readonly type: "Unchanged" }
  | { readonly type: "Unauthorized"; readonly digest: string; readonly message: string };

interface Received {
  readonly message: Uint8Array;
  readonly address: DocumentAddress;
  readonly stored: AcceptedDocument | undefined;
  readonly sha256: Sha256;
}

export function openDocument(received: Received, trusted: Trusted): Opening {
  const { message, sha256 } = received;
  const { keyring } = trusted;
  const digest = digestOf(message, sha256);
  const read = readSignedMessage(message);
  switch (read.type) {
    case "Plain":
      if (!keyring.required) return { type: "Opened", payload: message, digest };
      return unauthorized(digest, keyring, PLAIN);
    case "Broken": {
      const errors = read.errors.map(({ path, message: text }) => `${path} ${text}`).join("; ");
      return unauthorized(digest, keyring, `the signed envelope cannot be read: ${errors}`);
    }
    case "Signed":
      return openEnvelope(read.envelope, received, trusted);
  }
}

const PLAIN =
  'the document is not signed, and this node accepts signed documents only; sign it, or run "agent trust reset" on the node';

/** Without a key that can be used, that is the reason. */
function unauthorized(digest: string, { unusable }: Keyring, why: string): Opening {
  const message = unusable === undefined ? why : noTrustedKey(unusable);
  return { type: "Unauthorized", digest, message };
}

function openEnvelope(
  envelope: SignedEnvelope,
  { address, stored, sha256 }: Received,
  { keyring, verify }: Trusted,
): Opening {
  const { payload, payloadType } = envelope;
  const digest = digestOf(payload, sha256);
  if (keyring.unusable !== undefined) return unauthorized(digest, keyring, "");
  // Verified once, at acceptance. If its key was revoked since, the accepted document continues to count.
  const isWhole = stored?.lost === undefined && stored?.versionForgotten !== true;
  const isKept = stored?.signed === true && stored.digest === digest && isWhole;
  if (isKept && payloadType === payloadTypeOf("desired")) return { type: "Unchanged" };
  const message = { envelope, role: "desired", to: addresseeOf(address) } as const;
  const verdict = judgeSignature(message, keyring, verify);
  if (verdict.type === "Refused") return unauthorized(digest, keyring, verdict.message);
  return { type: "Opened", payload, digest, signature: { byRoot: verdict.byRoot } };
}

function addresseeOf(address: DocumentAddress): Addressee {
  const group = groupOf(address);
  return group === undefined ? { node: address.node } : { group };
}
