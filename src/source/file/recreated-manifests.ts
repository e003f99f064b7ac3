// Which manifest files were deleted and added again unchanged: that ends their pods and starts new ones. A file that
// returns with other content is an edit; one that was renamed away and back, or over itself, is a rewrite.

import { digestOf, type ManifestFile } from "./manifest-entry.ts";
import type { Departure, Hinted } from "./directory-events.ts";
import type { ManifestState } from "./manifest-state.ts";

/** Files that have left their name since they were last read; `Unknown` = seen absent, without an event. */
export type Departures = ReadonlyMap<string, Departure | "Unknown">;

/** `absent`: files that were missing in the last scan. An event outweighs an unexplained absence, a deletion outweighs
 * everything. */
export function departuresNow(
  before: Departures,
  left: Hinted["left"],
  absent: ReadonlySet<string>,
): Departures {
  const now = new Map(before);
  for (const path of absent) if (!now.has(path)) now.set(path, "Unknown");
  for (const [path, departure] of left) if (now.get(path) !== "Deleted") now.set(path, departure);
  return now;
}

/** Certainly deleted files. They are read again even if they look the same, as a copy with its old time does. */
export function certainlyDeleted(departures: Departures): ReadonlySet<string> {
  return new Set([...departures.keys()].filter((path) => departures.get(path) === "Deleted"));
}

/** What a scan left open: files that are missing, or exist again and are not read yet. */
export function undecided(departures: Departures, open: ReadonlySet<string>): Departures {
  return new Map([...departures].filter(([path]) => open.has(path)));
}

/** Files that were deleted and exist again with the same bytes; `read` = the files read in this scan. */
export function recreated(
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
