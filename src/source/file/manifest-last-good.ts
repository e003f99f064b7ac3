// What counts of one manifest file: what is valid in it, the last good copy of what is not, and what an immutable
// object was. Pure.

import { writtenText } from "../../api/decode/decode-object.ts";
import type { DecodedManifest } from "../../api/decode/decode-manifest.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { LastGood, LastGoodChanges, LastGoodKey, LostGood } from "../../api/pod/last-good.ts";
import {
  entriesOf,
  entryKey,
  firstOfEachName,
  isManifestKind,
  keyOf,
  nameOf,
  rejectedKey,
  type EntriesByFile,
  type ManifestEntry,
  type ManifestFile,
} from "./manifest-entry.ts";
import { immutableErrors } from "../same-object.ts";

/** Copies that cannot be read any more: what their files say is known only when those are valid. */
export type LostByFile = ReadonlyMap<string, readonly LostGood[]>;

/** What the checkpoint of the files holds. */
export interface LastGoodState {
  readonly lastGood: EntriesByFile;
  readonly lost: LostByFile;
}

/** What was known of the file before it was read. */
export interface FileBefore {
  readonly lastGood: readonly ManifestEntry[];
  readonly lost: readonly LostGood[];
  /** It was deleted in between: nothing in it is an edit of what was there. */
  readonly isNew: boolean;
}

export interface FileWord {
  /** What counts. */
  readonly entries: readonly ManifestEntry[];
  /** Copies of which the file still does not tell what became of them. */
  readonly lost: readonly LostGood[];
  /** Edits of immutable objects: what they were before counts. */
  readonly refused: readonly Rejection[];
}

export function wordOf(file: ManifestFile, before: FileBefore): FileWord {
  if (file.reading.type === "Refused")
    return { entries: before.lastGood, lost: before.lost, refused: [] };
  const { manifest } = file.reading;
  const good = firstOfEachName(entriesOf(manifest));
  const declared = new Set(good.map(entryKey));
  for (const notice of manifest.notices)
    if (notice.code === "NotForThisNode") declared.add(rejectedKey(notice) ?? "");
  const kept = keptBy(manifest.errors, before.lastGood).filter(
    (entry) => !declared.has(entryKey(entry)),
  );
  const { entries, refused } = before.isNew
    ? { entries: good, refused: [] }
    : withoutEdits(good, before.lastGood);
  return {
    entries: [...entries, ...kept].toSorted((a, b) => a.document - b.document),
    lost:
      manifest.errors.length === 0 ? [] : before.lost.filter((one) => !declared.has(keyOf(one))),
    refused,
  };
}

/** True if the file says exactly what its last good copies say: then it is whole, however young it is. */
export function saysTheSame(
  manifest: DecodedManifest,
  lastGood: readonly ManifestEntry[],
): boolean {
  const entries = entriesOf(manifest);
  if (manifest.errors.length > 0 || entries.length === 0) return false;
  return textOf(entries) === textOf(lastGood);
}

/** What the checkpoint has to change to hold `after`. */
export function lastGoodChanges(before: LastGoodState, after: LastGoodState): LastGoodChanges {
  if (before.lastGood === after.lastGood && before.lost === after.lost)
    return { put: [], removed: [] };
  const old = new Map(rows(before.lastGood).map((row) => [rowKey(row), row]));
  const now = new Map(rows(after.lastGood).map((row) => [rowKey(row), row]));
  const put = [...now.values()].filter((row) => isNews(row, old.get(rowKey(row)))).map(copyOf);
  // A lost copy stays until its file tells: whoever finds the key again finds the copy.
  const lost = new Set([...after.lost.values()].flat().map(rowKey));
  const removed = [...old.values(), ...[...before.lost.values()].flat()].filter(
    (row) => !now.has(rowKey(row)) && !lost.has(rowKey(row)),
  );
  return {
    put,
    removed: removed.map(({ path, kind, namespace, name }) => ({ path, kind, namespace, name })),
  };
}

/** The last good entries that a broken file may still mean. */
function keptBy(
  errors: readonly Rejection[],
  lastGood: readonly ManifestEntry[],
): readonly ManifestEntry[] {
  const known = new Set(lastGood.map(entryKey));
  const mayMean = (error: Rejection, entry: ManifestEntry): boolean => {
    const key = rejectedKey(error);
    if (key !== undefined && known.has(key)) return key === entryKey(entry);
    // A name that never was good may be any of the missing ones of its kind, renamed; without a kind any at all.
    return !isManifestKind(error.kind) || error.kind === nameOf(entry).kind;
  };
  return lastGood.filter((entry) => errors.some((error) => mayMean(error, entry)));
}

function withoutEdits(
  entries: readonly ManifestEntry[],
  lastGood: readonly ManifestEntry[],
): Pick<FileWord, "entries" | "refused"> {
  const before = new Map(lastGood.map((entry) => [entryKey(entry), entry]));
  const refused: Rejection[] = [];
  const counting = entries.map((entry) => {
    const earlier = before.get(entryKey(entry));
    const errors = earlier === undefined ? [] : editsOf(earlier, entry);
    refused.push(...errors);
    return earlier === undefined || errors.length === 0 ? entry : earlier;
  });
  return { entries: counting, refused };
}

function editsOf(before: ManifestEntry, now: ManifestEntry): readonly Rejection[] {
  if (before.type === "Pod" || now.type === "Pod") return [];
  const { source, sourceRef, object } = now.desired;
  const ref = sourceRef.replace(/#\d+$/, "");
  const errors = immutableErrors(before.desired.object, object);
  return errors.map((error) => ({ source, ref, ...nameOf(now), ...error }));
}

interface Row extends LastGoodKey {
  readonly entry: ManifestEntry;
}

function rows(entries: EntriesByFile): readonly Row[] {
  return [...entries].flatMap(([path, ofFile]) =>
    ofFile.map((entry) => ({ path, ...nameOf(entry), entry })),
  );
}

/** Texts are compared only where a file was read anew: an object may have a megabyte. */
function isNews({ entry }: Row, stored: Row | undefined): boolean {
  if (stored === undefined) return true;
  if (stored.entry === entry) return false;
  if (stored.entry.document !== entry.document) return true;
  return writtenText(stored.entry.written) !== writtenText(entry.written);
}

function copyOf({ entry, ...key }: Row): LastGood {
  return { ...key, document: entry.document, text: writtenText(entry.written) };
}

function rowKey({ path, kind, namespace, name }: LastGoodKey): string {
  return JSON.stringify([path, kind, namespace, name]);
}

/** In an order that does not depend on where the entries come from. */
function textOf(entries: readonly ManifestEntry[]): string {
  return entries
    .map((entry) => `${entry.document} ${entryKey(entry)} ${writtenText(entry.written)}`)
    .toSorted()
    .join();
}
