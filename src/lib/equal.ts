// Whether two plain values say the same: JSON without functions, undefined members count as absent.

export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [one, other] = [membersOf(a), membersOf(b)];
  if (one.size !== other.size) return false;
  return [...one].every(([key, value]) => other.has(key) && sameValue(value, other.get(key)));
}

function membersOf(value: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(value).filter(([, member]) => member !== undefined));
}
