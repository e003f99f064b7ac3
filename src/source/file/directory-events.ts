// What the hints since the last look say of each manifest file. Pure.

import type { DirectoryHint, NameHint } from "../../host/files.ts";

/** How a file left its name: by an order, or by a rename, as editors rename to and fro. */
export type Departure = "Deleted" | "MovedOut";

export interface Hinted {
  /** Files that were renamed into place, and not touched since. */
  readonly whole: ReadonlySet<string>;
  /** Files whose name has come or gone, nobody knows how. */
  readonly maybeWhole: ReadonlySet<string>;
  /** Files that somebody has written to. */
  readonly written: ReadonlySet<string>;
  /** Names that were left, even for a moment; deleted once outweighs any renames. */
  readonly left: ReadonlyMap<string, Departure>;
  /** The watched directory itself was removed or renamed, or the watch has ended. */
  readonly directory: boolean;
}

export const NO_HINTS: Hinted = {
  whole: new Set(),
  maybeWhole: new Set(),
  written: new Set(),
  left: new Map(),
  directory: false,
};

/** `pathOf` gives the path of a name. */
export function sortHints(
  hints: readonly DirectoryHint[],
  pathOf: (name: string) => string,
): Hinted {
  // What went with its directory was not ordered to go, and what is under the name now is another directory.
  if (hints.some((hint) => hint.type === "SelfGone")) return { ...NO_HINTS, directory: true };
  const arrivals = new Map<string, "whole" | "maybeWhole" | "written">();
  const left = new Map<string, Departure>();
  for (const hint of hints) {
    if (hint.type === "SelfGone" || hint.type === "Unknown") continue;
    const path = pathOf(hint.name);
    arrive(arrivals, { path, type: hint.type });
    if (hint.type === "Deleted") left.set(path, "Deleted");
    if (hint.type === "MovedOut" && !left.has(path)) left.set(path, "MovedOut");
  }
  const having = (wanted: string): ReadonlySet<string> =>
    new Set([...arrivals].flatMap(([path, arrival]) => (arrival === wanted ? [path] : [])));
  return {
    whole: having("whole"),
    maybeWhole: having("maybeWhole"),
    written: having("written"),
    left,
    directory: false,
  };
}

function arrive(
  arrivals: Map<string, "whole" | "maybeWhole" | "written">,
  { path, type }: { readonly path: string; readonly type: NameHint },
): void {
  switch (type) {
    case "MovedIn":
      arrivals.set(path, "whole");
      return;
    case "Written":
      arrivals.set(path, "written");
      return;
    case "CameOrWent":
      if (!arrivals.has(path)) arrivals.set(path, "maybeWhole");
      return;
    case "Closed":
      // Moved in while somebody had it open for writing: not whole then. A writer that is done says nothing new.
      if (arrivals.get(path) !== "written") arrivals.delete(path);
      return;
    case "Created":
    case "Deleted":
    case "MovedOut":
      arrivals.delete(path);
      return;
  }
}
