// "did you mean …?" for misspelt field names and kinds.

import { editDistance } from "./nearest-field.ts";

/** A pasted novel is no misspelling, and the distance costs its length. */
const MAX_LENGTH = 64;
/** A word that is part of another says little when it is shorter. */
const MIN_PART = 3;

/** What of `names` was probably meant: one a few letters away, or of which `written` is an abbreviation or a part. */
export function suggest(written: string, names: readonly string[]): string | undefined {
  if (written.length > MAX_LENGTH) return undefined;
  return nearestName(written, names, defaultReach(written)) ?? abbreviated(written, names);
}

/** ` (did you mean x?)`, or nothing. */
export function didYouMean(written: string, names: readonly string[]): string {
  const meant = suggest(written, names);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}

/** Nearly every word is two letters away from one of three. */
function defaultReach(written: string): number {
  return written.length <= 3 ? 1 : Math.max(2, Math.floor(written.length / 3));
}

/** The same without abbreviations and parts: only what is at most `reach` letters away. */
export function nearestName(
  written: string,
  names: readonly string[],
  reach: number,
): string | undefined {
  let best: string | undefined;
  let distance = reach + 1;
  const lower = written.toLowerCase();
  for (const name of names) {
    // The distance is at least this, and costs far more to find out.
    if (Math.abs(name.length - written.length) >= distance) continue;
    const next = editDistance(lower, name.toLowerCase(), distance);
    if (next >= distance) continue;
    best = name;
    distance = next;
  }
  return best;
}

/** `pvc`: persistentVolumeClaim; `name`: secretName; `environment`: env. Only if it can be but one. */
export function abbreviated(written: string, names: readonly string[]): string | undefined {
  const lower = written.toLowerCase();
  const meant = names.filter((name) => {
    if (lower.length > 1 && initials(name) === lower) return true;
    if (Math.min(lower.length, name.length) < MIN_PART) return false;
    return name.toLowerCase().endsWith(lower) || lower.startsWith(name.toLowerCase());
  });
  return meant.length === 1 ? meant[0] : undefined;
}

function initials(name: string): string {
  return `${name.charAt(0)}${name.slice(1).replaceAll(/[^A-Z]/g, "")}`.toLowerCase();
}
