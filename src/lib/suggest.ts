// "did you mean …?" for misspelt field names and kinds.

/** Longer words are no misspellings, and computing the distance costs their length. */
const MAX_LENGTH = 64;
/** A shorter word is part of too many others. */
const MIN_PART = 3;
const FAR = Number.POSITIVE_INFINITY;

/** The one of `names` that was probably meant: a few letters away, or one that `written` abbreviates or is a part of. */
export function suggest(written: string, names: readonly string[]): string | undefined {
  if (written.length > MAX_LENGTH) return undefined;
  return nearestName(written, names, defaultReach(written)) ?? abbreviated(written, names);
}

/** ` (did you mean x?)`, or nothing. */
export function didYouMean(written: string, names: readonly string[]): string {
  return meantText(suggest(written, names));
}

export function meantText(meant: string | undefined): string {
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}

/** Two letters lead from nearly every word of three to another one. */
function defaultReach(written: string): number {
  return written.length <= 3 ? 1 : Math.max(2, Math.floor(written.length / 3));
}

/** Like `suggest`, without abbreviations and parts: only names at most `reach` letters away. */
export function nearestName(
  written: string,
  names: readonly string[],
  reach: number,
): string | undefined {
  let best: string | undefined;
  let distance = reach + 1;
  const lower = written.toLowerCase();
  for (const name of names) {
    // A lower bound of the distance, far cheaper than the distance itself.
    if (Math.abs(name.length - written.length) >= distance) continue;
    const next = editDistance(lower, name.toLowerCase(), distance);
    if (next >= distance) continue;
    best = name;
    distance = next;
  }
  return best;
}

/** `pvc`: persistentVolumeClaim; `name`: secretName; `environment`: env. Only if exactly one name fits. */
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

/** Letters to insert, delete, replace or swap with their neighbour to get from one word to the other; any number above `most` if it takes more than that. */
export function editDistance(one: string, other: string, most = FAR): number {
  const same = commonPrefix(one, other);
  const from = one.slice(same);
  const to = other.slice(same);
  let before: readonly number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    const next = Array.from({ length: to.length + 1 }, () => FAR);
    next[0] = i;
    // Cells further away from the diagonal cost more than `most`.
    for (let j = Math.max(1, i - most); j <= Math.min(to.length, i + most); j++) {
      const isSame = from.charCodeAt(i - 1) === to.charCodeAt(j - 1);
      const replaced = (row[j - 1] ?? FAR) + (isSame ? 0 : 1);
      const isSwapped =
        from.charCodeAt(i - 1) === to.charCodeAt(j - 2) &&
        from.charCodeAt(i - 2) === to.charCodeAt(j - 1);
      const swapped = isSwapped ? (before[j - 2] ?? FAR) + 1 : replaced;
      next[j] = Math.min(replaced, swapped, (row[j] ?? FAR) + 1, (next[j - 1] ?? FAR) + 1);
    }
    // No later row has less: a row is at most one more than the one before, and a swap goes back two.
    const least = Math.min(...next);
    if (least > most) return least;
    before = row;
    row = next;
  }
  return row.at(-1) ?? FAR;
}

/** Length of what both begin with. */
function commonPrefix(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}
