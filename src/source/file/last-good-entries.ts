// Decodes the checkpoint of manifest files: its pods and objects stand for the files until those are read.

import { decodeObject } from "../../api/decode/decode-object.ts";
import { manifestRef } from "../../api/pod/desired-pod.ts";
import type { LastGood, LastGoodCopies, LostGood } from "../../api/pod/last-good.ts";
import { entriesOf, entryKey, keyOf, type ManifestEntry } from "./manifest-entry.ts";
import type { LastGoodState } from "./manifest-last-good.ts";
import { parseJson } from "../../lib/json.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

export interface RestoreContext {
  readonly nodeName: string;
  readonly sha256: Sha256;
}

/** Lenient: what was accepted once is not judged again (boring-restart). */
export function restoreEntries(saved: LastGoodCopies, context: RestoreContext): LastGoodState {
  const lastGood = new Map<string, ManifestEntry[]>();
  const lost = new Map<string, LostGood[]>();
  for (const copy of saved.copies) {
    const entry = entryOf(copy, context);
    if (entry === undefined) add(lost, copy.path, lostCopy(copy));
    else add(lastGood, copy.path, entry);
  }
  for (const copy of saved.lost) add(lost, copy.path, copy);
  for (const entries of lastGood.values()) entries.sort((a, b) => a.document - b.document);
  return { lastGood, lost };
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

function add<T>(map: Map<string, T[]>, path: string, item: T): void {
  const known = map.get(path);
  if (known === undefined) map.set(path, [item]);
  else known.push(item);
}
