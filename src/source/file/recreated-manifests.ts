// Which manifest files were removed and added again as they were: an order to end the pods' lives and begin new ones.
// A file that comes back with other content is an edit, one that was renamed away and back or over itself a rewrite.

import type { Departure } from "./directory-events.ts";
import type { ManifestState } from "./manifest-state.ts";
import { digestOf, type ManifestFile } from "./manifest-entry.ts";

/** Files that have left their name since they were last read; `Unknown` = seen absent, and no hint tells how. */
export type Departures = ReadonlyMap<string, Departure | "Unknown">;

export interface DepartureFacts {
  /** What the hints say since the last scan. */
  readonly left: ReadonlyMap<string, Departure>;
  /** Files that the last scan has seen absent. */
  readonly absent: ReadonlySet<string>;
}

/** A hint outweighs an absence that nothing explains, a deletion outweighs anything. */
export function departuresNow(before: Departures, { left, absent }: DepartureFacts): Departures {
  const now = new Map(before);
  for (const path of absent) if (!now.has(path)) now.set(path, "Unknown");
  for (const [path, departure] of left) if (now.get(path) !== "Deleted") now.set(path, departure);
  return now;
}

/** Files that were deleted for certain: read again though they may look the same, as a copy with its old time does. */
export function deletedOnce(departures: Departures): ReadonlySet<string> {
  return new Set([...departures.keys()].filter((path) => departures.get(path) === "Deleted"));
}

/** What is still to be decided after a scan: the files that are away, or there again and not yet read. */
export function undecided(departures: Departures, open: ReadonlySet<string>): Departures {
  return new Map([...departures].filter(([path]) => open.has(path)));
}

/** Those that left by an order and say byte for byte what they said before; `read` = the files read in this scan. */
export function reborn(
  departures: Departures,
  read: readonly ManifestFile[],
  state: ManifestState,
): readonly string[] {
  return read.flatMap((file) => {
    const departure = departures.get(file.path);
    if (departure === undefined || departure === "MovedOut") return [];
    const before = state.files.get(file.path);
    if (before === undefined || digestOf(before) === "") return [];
    return digestOf(before) === digestOf(file) ? [file.path] : [];
  });
}
