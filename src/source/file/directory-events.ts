// What the directory events since the last scan mean for each manifest file, and which files were removed and added again
// unchanged: that ends their pods and starts new ones. A file that returns with other content is an edit; one that was
// renamed away and back, or over itself, is a rewrite.

import type { DirectoryHint, NameHint } from "../../host/files.ts";
import type { ManifestState } from "./manifest-state.ts";
import { digestOf, type ManifestFile } from "./manifest-entry.ts";
import type { Arrival } from "./manifest-settle.ts";

/** How a file left its name: deleted, or renamed, as editors do while they save. */
export type Departure = "Deleted" | "MovedOut";

export interface Hinted {
  readonly arrivals: ReadonlyMap<string, Arrival>;
  /** Names that were left, even briefly; a deletion outweighs renames. */
  readonly left: ReadonlyMap<string, Departure>;
  /** The watched directory itself was removed or renamed, or the watch has ended. */
  readonly directory: boolean;
}

export const NO_HINTS: Hinted = {
  arrivals: new Map(),
  left: new Map(),
  directory: false,
};

/** `pathOf` gives the path of a name. */
export function sortHints(
  hints: readonly DirectoryHint[],
  pathOf: (name: string) => string,
): Hinted {
  // Files that disappeared with their directory were not deleted, and the name now means another directory.
  if (hints.some((hint) => hint.type === "SelfGone")) return { ...NO_HINTS, directory: true };
  const arrivals = new Map<string, Arrival>();
  const left = new Map<string, Departure>();
  for (const hint of hints) {
    if (hint.type === "SelfGone" || hint.type === "Unknown") continue;
    const path = pathOf(hint.name);
    arrive(arrivals, { path, type: hint.type });
    if (hint.type === "Deleted") left.set(path, "Deleted");
    if (hint.type === "MovedOut" && !left.has(path)) left.set(path, "MovedOut");
  }
  return { arrivals, left, directory: false };
}

function arrive(
  arrivals: Map<string, Arrival>,
  { path, type }: { readonly path: string; readonly type: NameHint },
): void {
  switch (type) {
    case "MovedIn":
      arrivals.set(path, "Whole");
      return;
    case "Written":
      arrivals.set(path, "Written");
      return;
    case "CameOrWent":
      if (!arrivals.has(path)) arrivals.set(path, "MaybeWhole");
      return;
    case "Closed":
      // Moved in while open for writing, so not known to be whole. After a write, the close adds nothing.
      if (arrivals.get(path) !== "Written") arrivals.delete(path);
      return;
    case "Created":
    case "Deleted":
    case "MovedOut":
      arrivals.delete(path);
      return;
  }
}

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
