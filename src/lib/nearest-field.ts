// Which known field a misspelt one was probably meant to be.

/**
 * The nearest known field: its bare name when it belongs to the same parent, its full path when a field of
 * another parent is nearer. `known` maps parent paths ("" = top level) to field names.
 */
export function nearestField(
  written: string,
  parent: string,
  known: Readonly<Record<string, readonly string[]>>,
): string {
  let best = { name: "", score: Number.POSITIVE_INFINITY };
  for (const [place, names] of Object.entries(known)) {
    for (const name of names) {
      // At equal distance the own parent's field wins.
      const score =
        editDistance(written.toLowerCase(), name.toLowerCase()) + (place === parent ? 0 : 0.5);
      if (score >= best.score) continue;
      best = { name: place === parent || place === "" ? name : `${place}.${name}`, score };
    }
  }
  return best.name;
}

const FAR = Number.POSITIVE_INFINITY;

/** Letters to insert, delete, exchange or swap with their neighbour to get from one word to the other; some number above `most` if it takes more than that. */
export function editDistance(one: string, other: string, most = FAR): number {
  const same = sameStart(one, other);
  const from = one.slice(same);
  const to = other.slice(same);
  let before: readonly number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    const next = Array.from({ length: to.length + 1 }, () => FAR);
    next[0] = i;
    // Further away from the diagonal there is nothing within reach.
    for (let j = Math.max(1, i - most); j <= Math.min(to.length, i + most); j++) {
      const isSame = from.charCodeAt(i - 1) === to.charCodeAt(j - 1);
      const exchanged = (row[j - 1] ?? FAR) + (isSame ? 0 : 1);
      const isSwapped =
        from.charCodeAt(i - 1) === to.charCodeAt(j - 2) &&
        from.charCodeAt(i - 2) === to.charCodeAt(j - 1);
      const swapped = isSwapped ? (before[j - 2] ?? FAR) + 1 : exchanged;
      next[j] = Math.min(exchanged, swapped, (row[j] ?? FAR) + 1, (next[j - 1] ?? FAR) + 1);
    }
    // No later row has less: a row is at most one more than the one before, and a swap goes back two.
    const least = Math.min(...next);
    if (least > most) return least;
    before = row;
    row = next;
  }
  return row.at(-1) ?? FAR;
}

/** How many letters. */
function sameStart(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}
