// A SealedSecret: a Secret in a document that only the nodes can open to whose keys it was sealed. A broker and its readers
// see its name and for how many keys it is.

import { fieldOf, list, objectType, type Decoded } from "../api/schema/codec.ts";
import { base64, exactText } from "../api/schema/values.ts";
import { groupOf, type DocumentAddress } from "./desired-document.ts";

/** Bounds the time of opening. */
const MAX_SEALED = 64;
/** Nodes of one group; a document has no room for more. */
const MAX_KEYS = 512;
/** Key of the content: AES-256-GCM, which is used once. */
export const CONTENT_KEY_BYTES = 32;
const KEY_ID = /^[0-9a-f]{16}$/;

const exact = fieldOf(exactText, "");
const bytes = fieldOf(base64, new Uint8Array());

const SEALED_KEY = objectType("SealedKey", {
  keyid: exact({
    about: "First 16 hex digits of the sha256 of the node's public key.",
    required: true,
    check: (id) => (KEY_ID.test(id) ? undefined : "must be 16 hex digits"),
  }),
  wrapped: bytes({
    about:
      "The key of the content in base64, encrypted to the node's key with HPKE (RFC 9180: X25519, HKDF-SHA256, AES-128-GCM).",
    required: true,
  }),
});

const NAMES = objectType("SealedSecretMetadata", {
  name: exact({ about: "Name of the Secret.", required: true }),
  namespace: fieldOf(exactText)({ about: "Namespace of the Secret.", default: "default" }),
});

const SPEC = objectType("SealedSecretSpec", {
  content: bytes({
    about: "The Secret as JSON, encrypted with AES-256-GCM: ciphertext and tag in base64.",
    required: true,
  }),
  keys: list(SEALED_KEY, {
    about: "The key of the content, once for each node that can open it.",
    required: true,
    check: ({ length }) =>
      length <= MAX_KEYS ? undefined : `must have at most ${MAX_KEYS} entries`,
  }),
});

/** What `agent fleet seal` writes and a document holds under `sealed`. */
export const SEALED_SECRET = objectType("SealedSecret", {
  apiVersion: exact({ about: "agent/v1.", required: "agent/v1" }),
  kind: exact({ about: "SealedSecret.", required: "SealedSecret" }),
  metadata: fieldOf(NAMES, { name: "", namespace: "default" })({
    about: "Which Secret it is.",
    required: true,
  }),
  spec: fieldOf(SPEC, { content: new Uint8Array(), keys: [] })({
    about: "The encrypted Secret.",
    required: true,
  }),
});
export type SealedSecret = Decoded<typeof SEALED_SECRET>;

/** The field `sealed` of a document. */
export const SEALED_SECRETS = list(SEALED_SECRET, {
  about: `Secrets that only nodes can open to whose keys they were sealed, at most ${MAX_SEALED}. Only in a signed document.`,
  check: ({ length }) =>
    length <= MAX_SEALED ? undefined : `must have at most ${MAX_SEALED} entries`,
});

export type UnsealedContent =
  | { readonly type: "Opened"; readonly plain: Uint8Array }
  /** It is for keys that the node does not have. */
  | { readonly type: "OtherKeys" }
  /** Changed on the way, or sealed for another document or under another name. */
  | { readonly type: "Damaged" };

/** `label`: see `sealLabel`. Never throws. */
export type Unseal = (sealed: SealedSecret, label: string) => UnsealedContent;

/** What a sealed Secret is bound to: it opens in this document and under this name only. */
export function sealLabel(document: string, { name, namespace }: SealedSecret["metadata"]): string {
  return `agent/v1 SealedSecret\n${document}\n${namespace}/${name}`;
}

/** `node/pi-1`, `group/kiosks`: the document in a label. */
export function sealedDocument(address: Pick<DocumentAddress, "source" | "node">): string {
  const group = groupOf(address);
  return group === undefined ? `node/${address.node}` : `group/${group}`;
}
