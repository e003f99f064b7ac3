// Performs: the platform's SHA-256.

import { createHash } from "node:crypto";

/** sha256 of all parts one after the other, in lower-case hexadecimal digits. */
export function sha256(...parts: readonly (Uint8Array | string)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

/** sha256 of text (as UTF-8) or bytes, as 64 lower-case hexadecimal digits. */
export type Sha256 = (data: string | Uint8Array) => string;
