// What is wrong with an image archive: it is refused as a whole.

import { DAMAGED_ARCHIVE } from "../../containerd/archive/damaged-archive.ts";
import { AgentError } from "../../lib/errors.ts";

const REASON = "InvalidImageArchive";

/** `why` is a clause such as `it ends early`. */
export function invalidArchive(why: string, cause?: unknown): AgentError {
  return new AgentError({ reason: REASON, message: `the image archive is refused: ${why}`, cause });
}

/** Reading the same bytes again leads to the same error. */
export function isInvalidArchive(thrown: unknown): boolean {
  return thrown instanceof AgentError && [REASON, DAMAGED_ARCHIVE].includes(thrown.reason);
}
