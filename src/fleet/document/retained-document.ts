// Reads a retained desired document, signed or plain: its version and its content. Signatures are not verified.

import { digestOf, readSignedMessage } from "../../protocol/dsse.ts";
import { DOCUMENT_LIMITS } from "../../api/yaml/text-limits.ts";
import { readDocuments } from "../../api/yaml/yaml-documents.ts";
import { fieldOf, listOf, objectType } from "../../api/schema/codec.ts";
import { readLeniently } from "../../api/schema/read-value.ts";
import { anything } from "../../api/schema/values.ts";
import { count, maybeText, text } from "../../protocol/read-published.ts";
import { type JsonObject, isJsonObject } from "../../lib/json.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

const VERSION = objectType("DesiredState", {
  epoch: text("Epoch of the document."),
  generation: count("Generation of the document."),
  issuedAt: maybeText("Time of the signature."),
  resources: fieldOf(listOf(anything))({ about: "The objects.", default: [] }),
  sealed: fieldOf(listOf(anything))({ about: "Sealed Secrets.", default: [] }),
});

export interface RetainedDocument {
  readonly epoch: string;
  readonly generation: number;
  /** `sha256:…` of the payload, as nodes report it. */
  readonly digest: string;
  /** The keys that signed it; [] = unsigned. */
  readonly keyids: readonly string[];
  readonly issuedAt?: string;
  /** SealedSecrets too. */
  readonly resources: readonly unknown[];
  readonly document: JsonObject;
}

/** undefined = there is none, or nothing that could be read as one: no node can have accepted it. */
export function readRetained(
  bytes: Uint8Array | undefined,
  sha256: Sha256,
): RetainedDocument | undefined {
  if (bytes === undefined || bytes.length === 0) return undefined;
  const message = readSignedMessage(bytes);
  if (message.type === "Broken") return undefined;
  const { payload, signatures } =
    message.type === "Signed" ? message.envelope : { payload: bytes, signatures: [] };
  const document = readDocuments(payload, DOCUMENT_LIMITS).documents[0]?.value;
  if (!isJsonObject(document)) return undefined;
  const read = readLeniently(VERSION, document);
  if (read === undefined) return undefined;
  const { sealed, ...version } = read;
  const resources = [...version.resources, ...sealed];
  const keyids = signatures.map(({ keyid }) => keyid);
  return { ...version, resources, digest: digestOf(payload, sha256), keyids, document };
}
