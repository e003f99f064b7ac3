// Performs: the platform's SHA-256.

import { createHash, timingSafeEqual } from "node:crypto";

/** sha256 of all parts one after the other, in lower-case hexadecimal digits. */
export function sha256(...parts: readonly (Uint8Array | string)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

/** Whether `digest` is the sha256 of `text`; takes the same time for every digest. */
export function isSha256Of(text: string, digest: string): boolean {
  const own = Buffer.from(sha256(text));
  const other = Buffer.from(digest);
  return own.length === other.length && timingSafeEqual(own, other);
}

/** sha256 of text (as UTF-8) or bytes, as 64 lower-case hexadecimal digits. */
export type Sha256 = (data: string | Uint8Array) => string;
