// Reads the JSON inside checkpoints. Unknown fields are dropped, so that an older agent reads what a newer one wrote;
// whatever else cannot be read counts as absent.

import { z } from "zod";
import type { GoodCopy, RolloutState } from "../api/pod/rollout.ts";
import { isSourceName, type SourceName } from "../api/pod/source-name.ts";

const SOURCE = z.custom<SourceName>(isSourceName);

const DOCUMENT_HEADER = z.object({
  source: SOURCE,
  serial: z.number().int(),
  epoch: z.string(),
  generation: z.number().int(),
  digest: z.string(),
  signed: z.boolean().optional(),
  acceptedAt: z.number(),
});
type DocumentHeader = z.infer<typeof DOCUMENT_HEADER>;

const ROLLOUT_ROWS = z.object({
  states: z.array(z.object({ source: SOURCE, name: z.string(), state: z.string() })),
  copies: z.array(
    z.object({ source: SOURCE, name: z.string(), revision: z.string(), content: z.base64() }),
  ),
});
type WrittenRolloutRows = z.infer<typeof ROLLOUT_ROWS>;

const WANTED = { revision: z.string(), generation: z.number() };
const FAILURE = { reason: z.string(), message: z.string() };

const ROLLOUT_STATE = z.object({
  good: z.object(WANTED).exactOptional(),
  trial: z
    .object({
      ...WANTED,
      since: z.number(),
      crashesBefore: z.number(),
      elapsedMs: z.number(),
      at: z.number(),
      counts: z.boolean(),
      bootId: z.string(),
      boots: z.number(),
      started: z.boolean(),
      needsUpstream: z.boolean().exactOptional(),
      failed: z.object(FAILURE).exactOptional(),
    })
    .exactOptional(),
  bad: z.array(z.object({ ...WANTED, ...FAILURE })),
});

const GOOD_COPY = z.object({
  pod: z.string(),
  objects: z.array(z.string()),
  images: z.record(z.string(), z.string()),
});

const TRUST_RECORD = z.object({
  required: z.boolean(),
  bundle: z.object({ version: z.number().int().positive(), envelope: z.string() }).optional(),
});
type WrittenTrustRecord = z.infer<typeof TRUST_RECORD>;

const CHECKED_TRUST = z.object({ record: z.unknown(), sha256: z.string() });

export function readDocumentHeader(text: string): DocumentHeader | undefined {
  return DOCUMENT_HEADER.safeParse(parseJson(text)).data;
}

export function readRolloutRows(text: string): WrittenRolloutRows | undefined {
  return ROLLOUT_ROWS.safeParse(parseJson(text)).data;
}

export function readRolloutState(text: string): RolloutState | undefined {
  return ROLLOUT_STATE.safeParse(parseJson(text)).data;
}

export function readGoodCopy(text: string): GoodCopy | undefined {
  return GOOD_COPY.safeParse(parseJson(text)).data;
}

export function readTrustRecord(record: unknown): WrittenTrustRecord | undefined {
  return TRUST_RECORD.safeParse(record).data;
}

/** `record` is as written, unknown fields and their order included: the checksum covers exactly that. */
export function readCheckedTrust(
  text: string,
): { readonly record?: unknown; readonly sha256: string } | undefined {
  return CHECKED_TRUST.safeParse(parseJson(text)).data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Torn, or edited by hand.
    return undefined;
  }
}
