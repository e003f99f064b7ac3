// Decodes the checkpoint of manifest files: its pods and objects stand for the files until those are read.

import type { ReadContext } from "./manifest-files.ts";
import { decodeObject } from "../../api/decode/decode-object.ts";
import { manifestRef } from "../../api/pod/desired-pod.ts";
import type { LastGood, LastGoodCopies, LostGood } from "../../api/pod/last-good.ts";
import { byPlace, entriesOf, entryKey, keyOf, type ManifestEntry } from "./manifest-entry.ts";
import type { Outcomes } from "./manifest-last-good.ts";
import { parseJson } from "../../lib/json.ts";

type RestoreContext = Pick<ReadContext, "nodeName" | "sha256">;

/** Lenient: what was accepted once is not judged again (boring-restart). */
export function restoreEntries(saved: LastGoodCopies, context: RestoreContext): Outcomes {
  const outcomes = new Map<string, { entries: ManifestEntry[]; lost: LostGood[]; refused: [] }>();
  const of = (path: string) => outcomes.getOrInsert(path, { entries: [], lost: [], refused: [] });
  for (const copy of saved.copies) {
    const entry = entryOf(copy, context);
    if (entry === undefined) of(copy.path).lost.push(lostCopy(copy));
    else of(copy.path).entries.push(entry);
  }
  for (const copy of saved.lost) of(copy.path).lost.push(copy);
  for (const { entries } of outcomes.values()) entries.sort(byPlace);
  return outcomes;
}

function entryOf(copy: LastGood, { nodeName, sha256 }: RestoreContext): ManifestEntry | undefined {
  const { path, document } = copy;
  const sourceRef = manifestRef(path, document);
  const origin = { source: "file", ref: path, sourceRef } as const;
  const decoded = decodeObject(parseJson(copy.text), {
    ...origin,
    nodeName,
    sha256,
    document,
    lenient: true,
  });
  return entriesOf(decoded).find((entry) => entryKey(entry) === keyOf(copy));
}

function lostCopy({ path, kind, namespace, name, document }: LastGood): LostGood {
  return { path, kind, namespace, name, document, why: "it is damaged" };
}
