// Reads the JSON inside checkpoints. Unknown fields are dropped, so that an older agent reads what a newer one wrote;
// whatever else cannot be read counts as absent.

import { ROLLOUT_STATE, GOOD_COPY } from "../api/pod/rollout.ts";
import { boolean, fieldOf, list, objectType, type Decoded } from "../api/schema/codec.ts";
import { readStored } from "../api/schema/read-value.ts";
import { anything } from "../api/schema/values.ts";
import type { Type } from "../api/schema/type.ts";
import { invalidAt } from "../api/decode/field-reader.ts";
import type { DocumentVersion } from "../protocol/desired-document.ts";
import { type TrustRecord, TRUST_RECORD } from "../protocol/trust-bundle.ts";
import { parseJson } from "../lib/json.ts";
import { isSourceName, type SourceName } from "../api/pod/labels.ts";
import {
  storedText,
  storedInteger,
  storedNumber,
  storedBytes,
} from "../api/schema/stored-fields.ts";

const SOURCE: Type<SourceName> = {
  name: "string",
  read: (at) => (isSourceName(at.value) ? at.value : invalidAt(at, "must be a source")),
  write: (value) => value,
  schema: () => ({ type: "string" }),
};

const source = fieldOf(SOURCE, "file")({ about: "Source of the document.", required: true });

const VERSION = {
  epoch: storedText("Epoch of the document."),
  generation: storedInteger("Generation of the document."),
  digest: storedText("sha256 of the payload."),
  signed: boolean({ about: "Whether a signature was verified." }),
};

const DOCUMENT_HEADER = objectType("DocumentHeader", {
  source,
  serial: storedInteger("Counts the accepted documents of the source."),
  ...VERSION,
  acceptedAt: storedNumber("Wall-clock milliseconds of acceptance."),
});

const SUPERSEDED = objectType("Superseded", {
  ...VERSION,
  observedGeneration: storedInteger("Highest generation of the epoch that has converged."),
  by: storedText("Digest of the document that replaced it."),
});

const ROLLOUT_ROWS = objectType("RolloutRows", {
  states: list(
    objectType("RolloutRow", {
      source,
      name: storedText("Pod."),
      state: storedText("RolloutState, JSON."),
    }),
    { about: "State of each pod." },
  ),
  copies: list(
    objectType("CopyRow", {
      source,
      name: storedText("Pod."),
      revision: storedText("Its last good revision."),
      content: storedBytes("Sealed copy, base64."),
    }),
    { about: "Last good revisions." },
  ),
});
export type RolloutRows = Decoded<typeof ROLLOUT_ROWS>;
export type RolloutRow = RolloutRows["states"][number];
export type CopyRow = RolloutRows["copies"][number];

const CHECKED_TRUST = objectType("CheckedTrust", {
  record: fieldOf(anything)({ about: "TrustRecord as written.", keep: true }),
  sha256: storedText("sha256 of the record."),
});

export const readDocumentHeader = readerOf(DOCUMENT_HEADER);
export const readRolloutRows = readerOf(ROLLOUT_ROWS);
export const readRolloutState = readerOf(ROLLOUT_STATE);
export const readGoodCopy = readerOf(GOOD_COPY);
/** `record` is as written, unknown fields and their order included: the checksum covers exactly that. */
export const readCheckedTrust = readerOf(CHECKED_TRUST);

/** The replaced document; undefined = unreadable, or replaced by another one than `digest`. */
export function readSuperseded(json: string, digest: string): DocumentVersion | undefined {
  const { by, ...version } = readStored(SUPERSEDED, parseJson(json)) ?? {};
  return by === digest && "epoch" in version ? version : undefined;
}

export function writeRolloutRows(rows: RolloutRows): unknown {
  return ROLLOUT_ROWS.write(rows);
}

export function readTrustRecord(record: unknown): TrustRecord | undefined {
  return readStored(TRUST_RECORD, record);
}

function readerOf<T>(type: Type<T>): (json: string) => T | undefined {
  return (json) => readStored(type, parseJson(json));
}
