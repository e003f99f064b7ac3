// The error of bytes that cannot be decompressed: reading them again leads to the same.

import { AgentError } from "../../lib/errors.ts";

export const DAMAGED_ARCHIVE = "DamagedArchive";

/** `why` is a clause such as `it cannot be decompressed`. */
export function damagedArchive(why: string, cause: unknown): AgentError {
  return new AgentError({
    reason: DAMAGED_ARCHIVE,
    message: `the image archive is refused: ${why}`,
    cause,
  });
}
