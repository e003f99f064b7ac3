// Which keys may sign what: the document on the trust topic, and the record of trust that the node stores. Reading is
// strict, as a misspelt restriction would give a key more rights than intended.

import { bytesOfBase64 } from "../api/validation/base64.ts";
import { readMessage } from "../api/yaml/yaml-documents.ts";
import {
  checked,
  fieldOf,
  list,
  listOf,
  objectType,
  text,
  word,
  type Decoded,
} from "../api/schema/codec.ts";
import { readValue } from "../api/schema/read-value.ts";
import { storedBytes, storedFlag } from "../api/schema/stored-fields.ts";
import { atLeast, time } from "../api/schema/values.ts";
import type { Type } from "../api/schema/type.ts";
import { failed, type Result } from "../lib/result.ts";
import { growingNumber, type SignedKind } from "./dsse.ts";
import { isTopicName } from "./mqtt-topics.ts";

/** A raw Ed25519 public key, 32 bytes; in base64 where it is written. */
export type PublicKey = Uint8Array;
export type SigningRole = Exclude<SignedKind, "trust">;

const PUBLIC_KEY_BYTES = 32;
/** Letters of node names, and the star. */
const NODE_GLOB = /^[a-z0-9.*-]{1,253}$/;
const ROLES: readonly SigningRole[] = ["desired", "rollout", "command", "release"];

const PUBLIC_KEY: Type<PublicKey> = {
  name: "string",
  read({ findings, path, value }) {
    const bytes = typeof value === "string" ? bytesOfBase64(value) : undefined;
    if (bytes?.length === PUBLIC_KEY_BYTES) return bytes;
    // The value is not repeated: it may be a private key.
    const message = `Invalid value: must be a public Ed25519 key: ${PUBLIC_KEY_BYTES} bytes in base64`;
    findings.fail(path, "Invalid", message);
    return undefined;
  },
  write: (bytes) => bytes.toBase64(),
  schema: () => ({ type: "string", contentEncoding: "base64" }),
};

const NODE = checked(text, (name) =>
  NODE_GLOB.test(name) ? undefined : "must be a node name, in which * stands for any text",
);
const GROUP = checked(text, (name) =>
  isTopicName(name) ? undefined : "must be the name of a group",
);

const SIGNING_KEY = objectType("SigningKey", {
  pub: fieldOf(
    PUBLIC_KEY,
    new Uint8Array(),
  )({ about: "Public key in base64.", required: "the public key" }),
  roles: list(word(ROLES), {
    about: "What the key may sign: desired, rollout, command, release.",
    required: `at least one of ${ROLES.join(", ")}`,
  }),
  nodes: fieldOf(listOf(NODE))({
    about: "Nodes that the key may sign for; * in a name stands for any text. Default: all.",
    keep: true,
  }),
  groups: fieldOf(listOf(GROUP))({
    about: "Groups that the key may sign for. Default: all.",
    keep: true,
  }),
});
export type SigningKey = Decoded<typeof SIGNING_KEY>;

export const TRUST_BUNDLE = objectType("TrustBundle", {
  version: growingNumber,
  notBefore: fieldOf(time)({ about: "What was issued before this time is not accepted." }),
  root: list(PUBLIC_KEY, {
    about: "Keys that may sign the next TrustBundle, in base64.",
    required: "at least one key that may sign the next TrustBundle",
  }),
  keys: fieldOf(
    listOf(SIGNING_KEY),
    [],
  )({
    about: "Keys that may sign everything else.",
    required: "the list of keys that may sign documents",
    keep: true,
  }),
});
export type TrustBundle = Decoded<typeof TRUST_BUNDLE>;

/** Never throws, whatever the bytes are. */
export function decodeTrustBundle(payload: Uint8Array): Result<TrustBundle> {
  const { documents, errors } = readMessage(payload, "the TrustBundle");
  const [document, second] = documents;
  if (errors.length > 0 || document === undefined) return failed(errors);
  if (second === undefined) return readValue(TRUST_BUNDLE, document.value, document);
  const message = "must be one object {version, notBefore, root, keys}";
  return failed([{ path: "", code: "Invalid", message }]);
}

/** What a node stores of trust. */
export const TRUST_RECORD = objectType("TrustRecord", {
  required: storedFlag("Documents must be signed; only `agent trust reset` ends this."),
  bundle: fieldOf(
    objectType("TrustBundleRecord", {
      version: fieldOf(atLeast(1), 0)({ about: "Version of the TrustBundle.", required: true }),
      envelope: storedBytes("Its signed envelope as it came over the wire, base64."),
    }),
  )({ about: "Newest accepted TrustBundle." }),
});
export type TrustRecord = Decoded<typeof TRUST_RECORD>;

/** The keys in `trustPath`. */
export interface RootKeys {
  readonly keys: readonly PublicKey[];
  /** Sentences: a directory that cannot be read, a file that is no public Ed25519 key. */
  readonly problems: readonly string[];
}

/** Whether an Ed25519 signature (64 bytes) over the message was made with the private half of `key`. Never throws. */
export type VerifySignature = (
  key: PublicKey,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean;
