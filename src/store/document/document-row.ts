// Performs: an accepted document as a row of the database, and when two of them are the same.

import type { AcceptedDocument, DocumentVersion } from "../../protocol/desired-document.ts";
import type { SourceName } from "../../api/pod/desired-pod.ts";
import { encodeDocument, type StoredDocument } from "./document-file.ts";

export interface DocumentRow {
  readonly source: SourceName;
  readonly serial: number;
  readonly epoch: string;
  readonly generation: number;
  readonly digest: string;
  readonly payload: Uint8Array;
  readonly observed_generation: number;
  readonly accepted_at: number;
  /** What was signed, and whose version was forgotten: of this row only if it is its digest. An older agent leaves both as they are. */
  readonly signed_digest: string;
  readonly forgotten_digest: string;
  /** What it took the place of, JSON with the digest of this row as `by`; "" = nothing. An older agent leaves it as it is. */
  readonly superseded: string;
}

export function stored(row: DocumentRow): StoredDocument {
  const { source, serial, epoch, generation, digest } = row;
  const document = {
    source,
    epoch,
    generation,
    digest,
    payload: new Uint8Array(row.payload),
    ...(row.signed_digest === digest ? { signed: true } : {}),
    ...(row.forgotten_digest === digest ? { versionForgotten: true } : {}),
    observedGeneration: row.observed_generation,
    acceptedAt: row.accepted_at,
    ...supersededIn(row),
  };
  return { serial, document };
}

/** For the column `superseded`. */
export function supersededText({ superseded, digest: by }: AcceptedDocument): string {
  return superseded === undefined ? "" : JSON.stringify({ ...superseded, by });
}

function supersededIn({ superseded: text, digest }: DocumentRow): {
  readonly superseded?: DocumentVersion;
} {
  if (text === "") return {};
  const { by, ...superseded } = JSON.parse(text) as DocumentVersion & { readonly by: string };
  return by === digest ? { superseded } : {};
}

/** Nothing of `next` would be news. */
export function isSame(before: AcceptedDocument, next: AcceptedDocument): boolean {
  return (
    before.epoch === next.epoch &&
    before.generation === next.generation &&
    before.digest === next.digest &&
    (before.signed ?? false) === (next.signed ?? false) &&
    before.versionForgotten !== true
  );
}

export function isSameFile(a: StoredDocument, b: StoredDocument): boolean {
  return Buffer.compare(encodeDocument(a), encodeDocument(b)) === 0;
}
