// Signed messages: the DSSE envelope, and the bytes that are signed. No signature is verified here.
// https://github.com/secure-systems-lab/dsse

import { fieldOf, list, objectType, type Decoded } from "../api/schema/codec.ts";
import { readValue } from "../api/schema/read-value.ts";
import { base64, exactText, atLeast } from "../api/schema/values.ts";
import { isJsonObject, parseJson, type JsonObject } from "../lib/json.ts";
import { failed, type FieldError, type Result } from "../lib/result.ts";
import type { Sha256 } from "../lib/system-sha256.ts";
import { byteLength } from "../lib/short-text.ts";

/** Kind of a signed message, and the role that its signer must have. */
export type SignedKind = "desired" | "rollout" | "trust" | "command" | "release";

const PAYLOAD_TYPES: Readonly<Record<SignedKind, string>> = {
  desired: "application/vnd.agent.desired.v1+json",
  rollout: "application/vnd.agent.rollout.v1+json",
  trust: "application/vnd.agent.trust.v1+json",
  command: "application/vnd.agent.command.v1+json",
  release: "application/vnd.agent.release.v1+json",
};
/** Bounds the time of verification. */
const MAX_SIGNATURES = 16;
const SIGNATURE_BYTES = 64;
const KEY_ID = /^[0-9a-f]{16}$/;

const exact = fieldOf(exactText, "");
const bytes = fieldOf(base64, new Uint8Array());

/** Orders the versions of a document and of a TrustBundle. */
export const growingNumber = fieldOf(
  atLeast(1),
  0,
)({
  about: "Integer of at least 1, higher with every change.",
  required: "an integer of at least 1, higher with every change",
});

const SIGNATURE = objectType("Signature", {
  keyid: exact({
    about: "First 16 hex digits of the sha256 of the raw public key.",
    required: true,
    check: (id) => (KEY_ID.test(id) ? undefined : "must be 16 hex digits"),
  }),
  sig: bytes({
    about: "Ed25519 signature in base64.",
    required: true,
    check: ({ length }) =>
      length === SIGNATURE_BYTES ? undefined : `must be ${SIGNATURE_BYTES} bytes in base64`,
  }),
});

const SIGNED_ENVELOPE = objectType("SignedEnvelope", {
  payloadType: exact({ about: "What the payload is.", required: true, keep: true }),
  payload: bytes({ about: "The message, in base64.", required: true, keep: true }),
  signatures: list(SIGNATURE, {
    about: `Signatures, 1 to ${MAX_SIGNATURES}.`,
    required: true,
    check: ({ length }) =>
      length <= MAX_SIGNATURES ? undefined : `must have at most ${MAX_SIGNATURES} entries`,
  }),
});

/** The payload is the message itself, of which digests are made; an unknown payloadType is kept as it is. */
export type SignedEnvelope = Decoded<typeof SIGNED_ENVELOPE>;
export type Signature = Decoded<typeof SIGNATURE>;

export function payloadTypeOf(kind: SignedKind): string {
  return PAYLOAD_TYPES[kind];
}

/** `DSSEv1 LEN(type) type LEN(payload) payload`: the bytes that are signed. */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const length = byteLength(payloadType);
  const head = new TextEncoder().encode(`DSSEv1 ${length} ${payloadType} ${payload.length} `);
  const signed = new Uint8Array(head.length + payload.length);
  signed.set(head);
  signed.set(payload, head.length);
  return signed;
}

/** `sha256:` + the sha256 of a payload. */
export function digestOf(payload: Uint8Array, sha256: Sha256): string {
  return `sha256:${sha256(payload)}`;
}

/** `publicKey` raw, 32 bytes. */
export function keyIdOf(publicKey: Uint8Array, sha256: Sha256): string {
  return sha256(publicKey).slice(0, 16);
}

/** Whether a parsed message is meant as an envelope, even an invalid one. */
export function isEnvelope(value: unknown): value is JsonObject {
  return isJsonObject(value) && "payload" in value && "payloadType" in value && !("kind" in value);
}

/** The payload is not parsed. Never throws. */
export function readSignedEnvelope(value: unknown): Result<SignedEnvelope> {
  if (isEnvelope(value)) return readValue(SIGNED_ENVELOPE, value, { unknownFields: "warn" });
  return failed([{ path: "", code: "Invalid", message: "is not a signed envelope" }]);
}

/** JSON as it is published. */
export function writeSignedEnvelope(envelope: SignedEnvelope): string {
  return JSON.stringify(SIGNED_ENVELOPE.write(envelope));
}

export type ReadMessage =
  | { readonly type: "Signed"; readonly envelope: SignedEnvelope }
  /** Meant as an envelope, but invalid. */
  | { readonly type: "Broken"; readonly errors: readonly FieldError[] }
  | { readonly type: "Plain" };

/** Reads only the outer envelope. Never throws. */
export function readSignedMessage(payload: Uint8Array): ReadMessage {
  const value = parseJson(payload);
  if (!isEnvelope(value)) return { type: "Plain" };
  const read = readSignedEnvelope(value);
  return read.ok
    ? { type: "Signed", envelope: read.value }
    : { type: "Broken", errors: read.errors };
}
