// Which manifest files were removed and added again as they were: an order to end the pods' lives and begin new ones.
// A file that comes back with other content is an edit (editors rename to and fro), one renamed over itself a rewrite.

import type { ManifestFile, ManifestState } from "./manifest-state.ts";

/** Files that were seen absent and are there again, not yet read. */
export function returned(
  before: ReadonlySet<string>,
  absent: ReadonlySet<string>,
  seen: ReadonlyMap<string, unknown>,
): ReadonlySet<string> {
  return new Set([...before, ...absent].filter((path) => seen.has(path)));
}

/** Those of them that say byte for byte what they said before; `read` = the files read in this scan. */
export function reborn(
  candidates: ReadonlySet<string>,
  read: readonly ManifestFile[],
  state: ManifestState,
): readonly string[] {
  return read
    .filter(({ path }) => candidates.has(path))
    .filter((file) => {
      const before = state.files.get(file.path);
      return before !== undefined && digestOf(before) !== "" && digestOf(before) === digestOf(file);
    })
    .map(({ path }) => path);
}

function digestOf({ reading }: ManifestFile): string {
  return reading.type === "Decoded" ? reading.digest : "";
}
