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
import { openSealed, type SealKeys } from "./sealed.ts";
import { documentOf } from "./target.ts";

interface DecodeParts {
  readonly sha256: Sha256;
  /** Absent = the node has none. */
  readonly keys?: SealKeys | undefined;
}

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
  { sha256, keys }: DecodeParts,
): DecodedDocument {
  const { generation, signed = false, lost } = accepted;
  const read = readCheckpoint(accepted.payload, documentOf(address));
  const sealed = openSealed(read.sealed, address, keys);
  const decoded = decodeResources([...read.resources, ...sealed.secrets], {
    address,
    generation,
    sha256,
    lenient: true,
    signed,
  });
  const unread = lost === undefined ? read.errors : [lostError(generation, lost)];
  const damage = [
    ...documentRejections(unread, address),
    ...sealed.damaged,
    ...sealed.otherKeys,
    ...decoded.errors,
  ];
  return {
    document: desiredDocument(accepted, read, { ...decoded, opened: sealed.names }),
    rejected: [...damage, ...decoded.ignoredKinds],
    intact: damage.length === 0,
  };
}

function lostError(generation: number, why: string): FieldError {
  const message = `the accepted generation ${generation} cannot be opened: ${why}; publish it again`;
  return { path: "", code: "DocumentLost", message };
}
