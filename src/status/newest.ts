// Newest is the highest attempt: creation times come from a clock that jumps (law 7).

import type { ObservedPod, ObservedSandbox } from "../api/observed-pod.ts";

export function newestFirst<T extends { readonly attempt: number }>(all: readonly T[]): T[] {
  return all.toSorted((a, b) => b.attempt - a.attempt);
}

export function newestSandbox(observed: ObservedPod | undefined): ObservedSandbox | undefined {
  return newestFirst(observed?.sandboxes ?? [])[0];
}
