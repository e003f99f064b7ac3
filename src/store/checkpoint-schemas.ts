// Reads the JSON inside checkpoints. Unknown fields are dropped, so that an older agent reads what a newer one wrote;
// whatever else cannot be read counts as absent.

import type { GoodCopy, RolloutState } from "../api/pod/rollout.ts";
import {
  boolean,
  fieldOf,
  integer,
  list,
  listOf,
  map,
  objectType,
  type Decoded,
} from "../api/schema/codec.ts";
import { readStored } from "../api/schema/read-value.ts";
import { anything, atLeast, base64, exactText, realNumber } from "../api/schema/values.ts";
import type { Type } from "../api/schema/type.ts";
import { invalidAt } from "../api/decode/field-reader.ts";
import type { DocumentVersion } from "../protocol/desired-document.ts";
import type { TrustRecord } from "../protocol/trust-bundle.ts";
import { parseJson } from "../lib/json.ts";
import { isSourceName, type SourceName } from "../api/pod/labels.ts";

const SOURCE: Type<SourceName> = {
  name: "string",
  read: (at) => (isSourceName(at.value) ? at.value : invalidAt(at, "must be a source")),
  write: (value) => value,
  schema: () => ({ type: "string" }),
};

const text = (about: string) => fieldOf(exactText, "")({ about, required: true, keep: true });
const whole = (about: string) => integer({ about, required: true });
const real = (about: string) => fieldOf(realNumber, 0)({ about, required: true });
const flag = (about: string) => boolean({ about, required: true });
const bytes = (about: string) =>
  fieldOf(base64, new Uint8Array())({ about, required: true, keep: true });
const source = fieldOf(SOURCE, "file")({ about: "Source of the document.", required: true });

const VERSION = {
  epoch: text("Epoch of the document."),
  generation: whole("Generation of the document."),
  digest: text("sha256 of the payload."),
  signed: boolean({ about: "Whether a signature was verified." }),
};

const DOCUMENT_HEADER = objectType("DocumentHeader", {
  source,
  serial: whole("Counts the accepted documents of the source."),
  ...VERSION,
  acceptedAt: real("Wall-clock milliseconds of acceptance."),
});

const SUPERSEDED = objectType("Superseded", {
  ...VERSION,
  observedGeneration: whole("Highest generation of the epoch that has converged."),
  by: text("Digest of the document that replaced it."),
});

const WANTED = {
  revision: text("Revision of the pod."),
  generation: real("Generation of the document."),
};
const FAILURE = { reason: text("Reason, one word."), message: text("What happened.") };

const ROLLOUT_STATE: Type<RolloutState> = objectType("RolloutState", {
  good: fieldOf(objectType("WantedRevision", WANTED))({ about: "Last good revision." }),
  trial: fieldOf(
    objectType("Trial", {
      ...WANTED,
      since: real("Begin, or first look in this boot; monotonic milliseconds."),
      crashesBefore: real("Crashes of the pod before the trial."),
      elapsedMs: real("Milliseconds counted up to `at`."),
      at: real("Monotonic milliseconds up to which time was counted."),
      counts: flag("Whether time counts from `at` on."),
      bootId: text("Boot that `at` belongs to."),
      boots: real("Boots of the machine inside the trial."),
      started: flag("Whether a container has run."),
      needsUpstream: boolean({ about: "Whether the broker must be reached again.", keep: true }),
      failed: fieldOf(objectType("Failure", FAILURE))({ about: "Why it failed." }),
    }),
  )({ about: "Revision on trial." }),
  bad: fieldOf(
    listOf(objectType("BadRevision", { ...WANTED, ...FAILURE })),
    [],
  )({ about: "Revisions that failed, the newest last.", required: true, keep: true }),
});

const GOOD_COPY: Type<GoodCopy> = objectType("GoodCopy", {
  pod: text("The pod as written, JSON."),
  objects: list(exactText, { about: "The ConfigMaps and Secrets that it read, JSON." }),
  images: map(exactText, { about: "Image of each container." }),
});

const ROLLOUT_ROWS = objectType("RolloutRows", {
  states: list(
    objectType("RolloutRow", { source, name: text("Pod."), state: text("RolloutState, JSON.") }),
    { about: "State of each pod." },
  ),
  copies: list(
    objectType("CopyRow", {
      source,
      name: text("Pod."),
      revision: text("Its last good revision."),
      content: bytes("Sealed copy, base64."),
    }),
    { about: "Last good revisions." },
  ),
});
export type RolloutRows = Decoded<typeof ROLLOUT_ROWS>;
export type RolloutRow = RolloutRows["states"][number];
export type CopyRow = RolloutRows["copies"][number];

const TRUST_RECORD: Type<TrustRecord> = objectType("TrustRecord", {
  required: flag("Whether signatures are required."),
  bundle: fieldOf(
    objectType("TrustBundleRecord", {
      version: fieldOf(atLeast(1), 0)({ about: "Version of the TrustBundle.", required: true }),
      envelope: bytes("Signed envelope, base64."),
    }),
  )({ about: "Newest TrustBundle." }),
});

const CHECKED_TRUST = objectType("CheckedTrust", {
  record: fieldOf(anything)({ about: "TrustRecord as written.", keep: true }),
  sha256: text("sha256 of the record."),
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
