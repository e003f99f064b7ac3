// Performs: the trust record as text that proves itself: in the database and in the file beside it.

import { z } from "zod";
import { base64OfBytes, bytesOfBase64 } from "../api/validation/base64.ts";
import type { TrustRecord } from "../protocol/trust-record.ts";
import { sha256 } from "./sha256.ts";

/** Read leniently: what a newer agent adds is not this one's business (law 11). */
const RECORD = z.object({
  required: z.boolean(),
  bundle: z.object({ version: z.number().int().positive(), envelope: z.string() }).optional(),
});
const TEXT = z.object({ record: z.unknown(), sha256: z.string() });

export function encodeTrust({ required, bundle }: TrustRecord): string {
  const record = {
    required,
    ...(bundle === undefined
      ? {}
      : { bundle: { version: bundle.version, envelope: base64OfBytes(bundle.envelope) } }),
  };
  return `${JSON.stringify({ record, sha256: sha256(JSON.stringify(record)) })}\n`;
}

/** undefined when it is torn, changed, or not such a text. Never throws. */
export function decodeTrust(text: string): TrustRecord | undefined {
  const parsed = TEXT.safeParse(parseJson(text));
  if (!parsed.success || parsed.data.record === undefined) return undefined;
  // As it was written, unknown fields and order included: the checksum is of that.
  if (parsed.data.sha256 !== sha256(JSON.stringify(parsed.data.record))) return undefined;
  const record = RECORD.safeParse(parsed.data.record);
  if (!record.success) return undefined;
  const { required, bundle } = record.data;
  if (bundle === undefined) return { required };
  const envelope = bytesOfBase64(bundle.envelope);
  return envelope === undefined
    ? undefined
    : { required, bundle: { version: bundle.version, envelope } };
}

/** Forgets nothing that either of them knows. */
export function stricterOf(a: TrustRecord, b: TrustRecord): TrustRecord {
  const required = a.required || b.required;
  const bundle = (a.bundle?.version ?? 0) >= (b.bundle?.version ?? 0) ? a.bundle : b.bundle;
  return bundle === undefined ? { required } : { required, bundle };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: whatever it is, it is no record.
    return undefined;
  }
}
