// Decodes an accepted document after a restart: leniently, and without judging it again.

import type {
  AcceptedDocument,
  DesiredDocument,
  DocumentAddress,
} from "../../protocol/desired-document.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { FieldError } from "../../lib/result.ts";
import { desiredDocument, readCheckpoint } from "./decode.ts";
import { documentRejections } from "./refusal.ts";
import { decodeResources } from "./resources.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";
import { documentOf } from "./target.ts";

export interface DecodedDocument {
  readonly document: DesiredDocument;
  /** What can no longer be read, and what was left out when it was accepted: it does not run, and is reported. */
  readonly rejected: readonly Rejection[];
  /** False = some of the checkpoint could not be read: a pod that is missing from `pods` must not be taken for an
   * orphan. */
  readonly intact: boolean;
}

/** Never throws. Epoch, generation and digest come from the checkpoint, not from the payload. */
export function decodeAccepted(
  accepted: AcceptedDocument,
  address: DocumentAddress,
  sha256: Sha256,
): DecodedDocument {
  const { generation, signed = false, lost } = accepted;
  const read = readCheckpoint(accepted.payload, documentOf(address));
  const { resources } = read;
  const decoded = decodeResources(resources, {
    address,
    generation,
    sha256,
    lenient: true,
    signed,
  });
  const unread = lost === undefined ? read.errors : [lostError(generation, lost)];
  const damage = [...documentRejections(unread, address), ...decoded.errors];
  return {
    document: desiredDocument(accepted, read, decoded),
    rejected: [...damage, ...decoded.ignoredKinds],
    intact: damage.length === 0,
  };
}

function lostError(generation: number, why: string): FieldError {
  const message = `the accepted generation ${generation} holds Secrets and cannot be opened: ${why}; publish it again`;
  return { path: "", code: "DocumentLost", message };
}
