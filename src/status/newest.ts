// Newest is the highest attempt: creation times come from a clock that jumps (law 7).

export function newestFirst<T extends { readonly attempt: number }>(all: readonly T[]): T[] {
  return all.toSorted((a, b) => b.attempt - a.attempt);
}
