// Performs: reads the token that readers of the fleet must send.

import { UsageError } from "../../cli/exit-codes.ts";
import { readNamedFile } from "../../cli/read-file.ts";

/** Shorter ones can be guessed. */
export const MIN_TOKEN_LENGTH = 16;

/** Throws UsageError. */
export function tokenOfFile(path: string): string {
  const token = new TextDecoder().decode(readNamedFile(path)).trim();
  if (token.length >= MIN_TOKEN_LENGTH && /^\S+$/.test(token)) return token;
  throw new UsageError(
    `${path} must hold a token of at least ${MIN_TOKEN_LENGTH} characters, without spaces`,
  );
}
