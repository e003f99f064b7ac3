// Performs: the two stored forms of an accepted document: a row of the database, and a file with a checksum that can be
// read without the database.

import { type AcceptedDocument, groupOf } from "../../protocol/desired-document.ts";
import { withoutUndefined } from "../../lib/json.ts";
import type { Columns } from "../sqlite/table.ts";
import { checkedContent, textOf, withChecksum } from "../checked-file.ts";
import { readDocumentHeader, readSuperseded } from "../checkpoint-schemas.ts";
import type { SourceName } from "../../api/pod/labels.ts";

/** `serial` counts the accepted documents of the source: the highest is the newest. */
export interface StoredDocument {
  readonly serial: number;
  readonly document: AcceptedDocument;
}

export interface DocumentRow extends Pick<
  AcceptedDocument,
  "source" | "epoch" | "generation" | "digest" | "payload"
> {
  readonly serial: number;
  readonly observed_generation: number;
  readonly accepted_at: number;
  /** Both apply to this row only if they equal its digest: an older agent writes a row and leaves them unchanged. */
  readonly signed_digest: string;
  readonly forgotten_digest: string;
  /** The document that this one replaced, JSON with the digest of this row as `by`; "" = none. An older agent leaves it unchanged. */
  readonly superseded: string;
}

export const DOCUMENT_COLUMNS: Columns<DocumentRow, "source"> = {
  key: ["source"],
  values: [
    "serial",
    "epoch",
    "generation",
    "digest",
    "payload",
    "observed_generation",
    "accepted_at",
    "signed_digest",
    "forgotten_digest",
    "superseded",
  ],
};

const MAGIC = "agent-desired-document";
const NEWLINE = 0x0a;

export function storedDocument(row: DocumentRow): StoredDocument {
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
    ...withoutUndefined({ superseded: readSuperseded(row.superseded, digest) }),
  };
  return { serial, document };
}

/** Of a document whose version is not forgotten. */
export function documentRow({ serial, document }: StoredDocument): DocumentRow {
  const { source, epoch, generation, digest, payload, superseded } = document;
  return {
    source,
    serial,
    epoch,
    generation,
    digest,
    payload,
    observed_generation: document.observedGeneration,
    accepted_at: Math.round(document.acceptedAt),
    signed_digest: document.signed === true ? digest : "",
    forgotten_digest: "",
    superseded: superseded === undefined ? "" : JSON.stringify({ ...superseded, by: digest }),
  };
}

/** Accepting `next` would change nothing. */
export function isSameDocument(before: AcceptedDocument, next: AcceptedDocument): boolean {
  return (
    before.epoch === next.epoch &&
    before.generation === next.generation &&
    before.digest === next.digest &&
    (before.signed ?? false) === (next.signed ?? false) &&
    before.versionForgotten !== true
  );
}

/** A file name that is safe and different for every source. */
export function documentFileStem(source: SourceName): string {
  const group = groupOf({ source });
  if (group !== undefined) return `mqtt-group-${encodeURIComponent(group)}`;
  return source.replace(":", "-");
}

/** After the checksum: a line of JSON with the document's version, then the payload, byte for byte. */
export function encodeDocumentFile({ serial, document }: StoredDocument): Uint8Array {
  const { source, epoch, generation, digest, acceptedAt, signed } = document;
  const version = { source, serial, epoch, generation, digest };
  const header = { ...version, ...(signed === true ? { signed } : {}), acceptedAt };
  const line = Buffer.from(`${JSON.stringify(header)}\n`);
  return withChecksum(MAGIC, Buffer.concat([line, document.payload]));
}

/** Undefined when it is torn, changed, or not such a file. `observedGeneration` is 0: it is not in the file. */
export function decodeDocumentFile(bytes: Uint8Array): StoredDocument | undefined {
  const content = checkedContent(MAGIC, bytes);
  const end = content?.indexOf(NEWLINE) ?? -1;
  if (content === undefined || end < 0) return undefined;
  const header = readDocumentHeader(textOf(content.subarray(0, end)));
  if (header === undefined) return undefined;
  const { serial, signed, ...version } = header;
  const facts = { ...version, ...(signed === true ? { signed } : {}) };
  return {
    serial,
    document: { ...facts, payload: content.slice(end + 1), observedGeneration: 0 },
  };
}

export function isSameFile(a: StoredDocument, b: StoredDocument): boolean {
  return Buffer.compare(encodeDocumentFile(a), encodeDocumentFile(b)) === 0;
}
