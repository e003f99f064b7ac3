// What the directory events since the last scan mean for each manifest file: how it arrived, and how it left its name.

import type { DirectoryHint, NameHint } from "../../host/files.ts";
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
