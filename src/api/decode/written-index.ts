// Where an entry of a list was written, for what is said of it when others of the list were left out.

import type { Place } from "./field-reader.ts";

interface Entry<T> {
  readonly node: Pick<Place, "path">;
  /** Undefined = it is left out. */
  readonly value: T | undefined;
}

/** The entries that are kept, those that moved up with their written place. */
export function keptEntries<T extends object>(
  entries: readonly Entry<T>[],
): readonly (T & Written)[] {
  const kept: (T & Written)[] = [];
  for (const { node, value } of entries) {
    if (value === undefined) continue;
    const writtenIndex = node.path.at(-1);
    const isMoved = typeof writtenIndex === "number" && writtenIndex !== kept.length;
    kept.push(isMoved ? { ...value, writtenIndex } : value);
  }
  return kept;
}

/** `index`: where it stands now. */
export function writtenIndex(entry: Written, index: number): number {
  return entry.writtenIndex ?? index;
}

/** An entry of a list from which others may have been left out, as those of an injected token are. */
export interface Written {
  /** Index in the written list; absent = its index now. */
  readonly writtenIndex?: number;
}

/** The token that an API server injects into each pod: there is none here, and none is missed. */
export function isTokenVolume(name: unknown): boolean {
  return typeof name === "string" && name.startsWith("kube-api-access-");
}
