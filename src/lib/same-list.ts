// Whether two lists hold the same things, one by one.

export function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}
