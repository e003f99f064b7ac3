// Performs: the second copy of an accepted document: a file that can be read without the database, and proves itself.

import { z } from "zod";
import type { AcceptedDocument } from "../../protocol/desired-document.ts";
import type { SourceName } from "../../api/pod/desired-pod.ts";
import { sha256 } from "../sha256.ts";

/** What one file holds; `serial` counts the acceptances of its source, the highest is the newest. */
export interface StoredDocument {
  readonly serial: number;
  readonly document: AcceptedDocument;
}

const MAGIC = "agent-desired-document";
const NEWLINE = 0x0a;

export function isSource(value: unknown): value is SourceName {
  if (typeof value !== "string") return false;
  return ["file", "http", "mqtt:node"].includes(value) || value.startsWith("mqtt:group/");
}

/** Read leniently: what a newer agent adds is not this one's business (law 11). */
const HEADER = z.object({
  source: z.custom<SourceName>(isSource),
  serial: z.number().int(),
  epoch: z.string(),
  generation: z.number().int(),
  digest: z.string(),
  signed: z.boolean().optional(),
  acceptedAt: z.number(),
});

/** A name for the files of one source, safe and different for every source. */
export function documentFileStem(source: SourceName): string {
  const group = "mqtt:group/";
  if (source.startsWith(group))
    return `mqtt-group-${encodeURIComponent(source.slice(group.length))}`;
  return source.replace(":", "-");
}

/** Line 1: magic, format, sha256 of all that follows; line 2: the facts as JSON; then the payload, byte for byte. */
export function encodeDocument({ serial, document }: StoredDocument): Uint8Array {
  const { source, epoch, generation, digest, acceptedAt, signed } = document;
  const version = { source, serial, epoch, generation, digest };
  const facts = { ...version, ...(signed === true ? { signed } : {}), acceptedAt };
  const header = `${JSON.stringify(facts)}\n`;
  const first = `${MAGIC} 1 ${sha256(header, document.payload)}\n`;
  return Buffer.concat([Buffer.from(first + header), document.payload]);
}

/** Undefined when it is torn, changed, or not such a file. `observedGeneration` is 0: the file does not know it. */
export function decodeDocument(bytes: Uint8Array): StoredDocument | undefined {
  const endOfFirst = bytes.indexOf(NEWLINE);
  const endOfHeader = bytes.indexOf(NEWLINE, endOfFirst + 1);
  if (endOfFirst < 0 || endOfHeader < 0) return undefined;
  const [magic, , sum] = text(bytes.subarray(0, endOfFirst)).split(" ");
  if (magic !== MAGIC || sum !== sha256(bytes.subarray(endOfFirst + 1))) return undefined;
  const header = HEADER.safeParse(JSON.parse(text(bytes.subarray(endOfFirst + 1, endOfHeader))));
  if (!header.success) return undefined;
  const { serial, signed, ...version } = header.data;
  const facts = { ...version, ...(signed === true ? { signed } : {}) };
  const payload = bytes.slice(endOfHeader + 1);
  return { serial, document: { ...facts, payload, observedGeneration: 0 } };
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}
