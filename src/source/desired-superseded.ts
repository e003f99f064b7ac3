// Which document another one takes the place of before that has come to an end (MQTT.md §3). Pure.

import type { AcceptedDocument, DocumentVersion } from "../api/desired-document.ts";

/** `hasFailed`: of `before`, which has then had its last word. Undefined = there was nothing on its way. */
export function supersededBy(
  next: AcceptedDocument,
  before: AcceptedDocument | undefined,
  hasFailed: boolean,
): DocumentVersion | undefined {
  if (before === undefined || hasFailed || before.lost !== undefined) return undefined;
  const { epoch, generation, digest, signed, observedGeneration } = before;
  // The same document, now signed, is the same document.
  if (observedGeneration === generation || digest === next.digest) return undefined;
  const version = { epoch, generation, digest, observedGeneration };
  return signed === undefined ? version : { ...version, signed };
}
