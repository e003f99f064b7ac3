// Which document another one takes the place of before that has come to an end (MQTT.md §3). Pure.

import type { AcceptedDocument, DocumentVersion } from "../../protocol/desired-document.ts";

/** `hasFailed`: of `before`, which has then had its last word. Undefined = there was nothing on its way. */
export function supersededBy(
  next: AcceptedDocument,
  before: AcceptedDocument | undefined,
  hasFailed: boolean,
): DocumentVersion | undefined {
  // The same document, signed by now or accepted after a reset, is the same document.
  if (before?.digest === next.digest) return before.superseded;
  if (before === undefined || hasFailed || before.lost !== undefined) return undefined;
  const { epoch, generation, digest, signed, observedGeneration } = before;
  if (observedGeneration === generation) return undefined;
  const version = { epoch, generation, digest, observedGeneration };
  return signed === undefined ? version : { ...version, signed };
}
