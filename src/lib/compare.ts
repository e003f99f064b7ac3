// Equality and order of plain values.

/** Deep equality of JSON values and bytes; a member that is undefined counts as absent. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return isSameBytes(a, b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [one, other] = [membersOf(a), membersOf(b)];
  if (one.size !== other.size) return false;
  return [...one].every(([key, value]) => other.has(key) && sameValue(value, other.get(key)));
}

function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function membersOf(value: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(value).filter(([, member]) => member !== undefined));
}

/** Shallow equality of two lists. */
export function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

/** The first item of each key, in their order, and the others, each with the first one of its key. */
export function firstOfEach<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
): {
  readonly firsts: readonly T[];
  readonly repeats: readonly { readonly item: T; readonly first: T }[];
} {
  const firsts = new Map<string, T>();
  const repeats = items.flatMap((item) => {
    const first = firsts.get(keyOf(item));
    if (first !== undefined) return [{ item, first }];
    firsts.set(keyOf(item), item);
    return [];
  });
  return { firsts: [...firsts.values()], repeats };
}

/** The items whose key an earlier one has. */
export function repeated<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  return firstOfEach(items, keyOf).repeats.map(({ item }) => item);
}

/** Order by code units, for `toSorted`: the same on every machine, whatever its language. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
