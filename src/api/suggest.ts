// "did you mean …?" for misspelt field names and kinds.

import { editDistance } from "./nearest-field.ts";

/** The nearest of `names`, at most `reach` letters away; undefined if none is near enough to be what was meant. */
export function suggest(
  written: string,
  names: readonly string[],
  reach = Math.max(2, Math.floor(written.length / 3)),
): string | undefined {
  let best: string | undefined;
  let distance = reach + 1;
  // A pasted novel is no misspelling, and the distance costs its length.
  if (written.length > 64) return undefined;
  for (const name of names) {
    const next = editDistance(written.toLowerCase(), name.toLowerCase());
    if (next >= distance) continue;
    best = name;
    distance = next;
  }
  return best;
}
