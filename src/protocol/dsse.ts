// Signed messages: the DSSE envelope and what a signature is made over (MQTT.md §2). Pure: no key is used here.
// https://github.com/secure-systems-lab/dsse

import type { Sha256 } from "../api/decode/decode-context.ts";
import { base64OfBytes, bytesOfBase64 } from "../api/validation/base64.ts";
import { failed, ok, type FieldError, type Result } from "../lib/result.ts";

/** What a signed message is, and the role its signer must have. */
export type SignedKind = "desired" | "rollout" | "trust" | "command";

export interface Signature {
  /** First 16 hex digits of sha256 of the raw public key. */
  readonly keyid: string;
  /** 64 bytes of Ed25519. */
  readonly sig: Uint8Array;
}

export interface SignedEnvelope {
  /** Where it is none of ours it stays what it is: whoever reads it refuses it. */
  readonly payloadType: string;
  /** The message itself: its digest, and what is checkpointed. */
  readonly payload: Uint8Array;
  readonly signatures: readonly Signature[];
}

const PAYLOAD_TYPES: Readonly<Record<SignedKind, string>> = {
  desired: "application/vnd.agent.desired.v1+json",
  rollout: "application/vnd.agent.rollout.v1+json",
  trust: "application/vnd.agent.trust.v1+json",
  command: "application/vnd.agent.command.v1+json",
};
/** More would only cost time to verify. */
const MAX_SIGNATURES = 16;
const SIGNATURE_BYTES = 64;
const KEY_ID = /^[0-9a-f]{16}$/;

export function payloadTypeOf(kind: SignedKind): string {
  return PAYLOAD_TYPES[kind];
}

/** `DSSEv1 LEN(type) type LEN(payload) payload`: the bytes that are signed. */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = new TextEncoder().encode(payloadType);
  const head = new TextEncoder().encode(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `);
  const bytes = new Uint8Array(head.length + payload.length);
  bytes.set(head);
  bytes.set(payload, head.length);
  return bytes;
}

/** `publicKey` raw, 32 bytes. */
export function keyIdOf(publicKey: Uint8Array, sha256: Sha256): string {
  return sha256(publicKey).slice(0, 16);
}

/** Whether a parsed message wants to be read as an envelope, however broken. */
export function isEnvelope(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === "object" &&
    value !== null &&
    "payload" in value &&
    "payloadType" in value &&
    !("kind" in value)
  );
}

/** Nothing inside the payload is looked at. Never throws. */
export function readSignedEnvelope(value: unknown): Result<SignedEnvelope> {
  if (!isEnvelope(value)) return failed([wrong("", "is not a signed envelope")]);
  const { payloadType, payload: written, signatures: list } = value;
  const errors: FieldError[] = [];
  const payload = typeof written === "string" ? bytesOfBase64(written) : undefined;
  if (typeof payloadType !== "string") errors.push(wrong("payloadType", "must be a text"));
  if (payload === undefined) errors.push(wrong("payload", "must be base64"));
  const signatures = Array.isArray(list) ? readSignatures(list) : undefined;
  if (signatures === undefined)
    errors.push(
      wrong(
        "signatures",
        `must be a list of 1 to ${MAX_SIGNATURES} entries {keyid: 16 hex digits, sig: 64 bytes in base64}`,
      ),
    );
  if (typeof payloadType !== "string" || payload === undefined || signatures === undefined)
    return failed(errors);
  return ok({ payloadType, payload, signatures });
}

/** JSON as it goes over the wire. */
export function writeSignedEnvelope({ payloadType, payload, signatures }: SignedEnvelope): string {
  return JSON.stringify({
    payloadType,
    payload: base64OfBytes(payload),
    signatures: signatures.map(({ keyid, sig }) => ({
      keyid,
      sig: base64OfBytes(sig),
    })),
  });
}

function readSignatures(list: readonly unknown[]): readonly Signature[] | undefined {
  if (list.length === 0 || list.length > MAX_SIGNATURES) return undefined;
  const signatures = list.flatMap((entry) => readSignature(entry) ?? []);
  return signatures.length === list.length ? signatures : undefined;
}

function readSignature(entry: unknown): Signature | undefined {
  if (typeof entry !== "object" || entry === null) return undefined;
  const { keyid, sig: written } = entry as { readonly keyid?: unknown; readonly sig?: unknown };
  if (typeof keyid !== "string" || !KEY_ID.test(keyid) || typeof written !== "string")
    return undefined;
  const sig = bytesOfBase64(written);
  return sig?.length === SIGNATURE_BYTES ? { keyid, sig } : undefined;
}

function wrong(path: string, message: string): FieldError {
  return { path, code: "Invalid", message };
}

export type ReadMessage =
  | { readonly type: "Signed"; readonly envelope: SignedEnvelope }
  /** Wants to be an envelope and is none. */
  | { readonly type: "Broken"; readonly errors: readonly FieldError[] }
  | { readonly type: "Plain" };

const OBJECT = /^[ \t\r\n]*\{/;

/** Never throws, whatever the bytes are. */
export function readSignedMessage(payload: Uint8Array): ReadMessage {
  const value = jsonObject(payload);
  if (!isEnvelope(value)) return { type: "Plain" };
  const read = readSignedEnvelope(value);
  return read.ok
    ? { type: "Signed", envelope: read.value }
    : { type: "Broken", errors: read.errors };
}

function jsonObject(payload: Uint8Array): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(payload);
    return OBJECT.test(text) ? (JSON.parse(text) as unknown) : undefined;
  } catch {
    // No JSON, or nested too deeply for any reader: no envelope either.
    return undefined;
  }
}
