// Whether a message is signed: reads only the outer envelope.

import { isEnvelope, readSignedEnvelope, type SignedEnvelope } from "../protocol/dsse.ts";
import type { FieldError } from "../lib/result.ts";

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
