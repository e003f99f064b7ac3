// Which entries of a manifest file are in effect: the valid ones, the last good copy of what is invalid, and the former
// content of an immutable object.

import type { DecodedObject } from "../../api/decode/decode-context.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { LastGood, LastGoodChanges, LastGoodKey, LostGood } from "../../api/pod/last-good.ts";
import {
  entriesOf,
  entryKey,
  isManifestKind,
  keyOf,
  nameOf,
  rejectedKey,
  type EntriesByFile,
  type ManifestEntry,
  type ManifestFile,
} from "./manifest-entry.ts";
import { rejectionOf } from "../rejections.ts";
import { immutableErrors } from "../same-object.ts";
import { canonicalJson } from "../../lib/json.ts";
import { firstOfEach } from "../../lib/compare.ts";

/** Copies that can no longer be read: their content is known again when the file is valid. */
export type LostByFile = ReadonlyMap<string, readonly LostGood[]>;

/** The content of the checkpoint of manifest files. */
export interface LastGoodState {
  readonly lastGood: EntriesByFile;
  readonly lost: LostByFile;
}

/** The state of the file before it was read. */
export interface FileBefore {
  readonly lastGood: readonly ManifestEntry[];
  readonly lost: readonly LostGood[];
  /** It was deleted in between: its content is new, not an edit. */
  readonly isNew: boolean;
}

export interface FileOutcome {
  /** In effect. */
  readonly entries: readonly ManifestEntry[];
  /** Copies that the file has not replaced yet. */
  readonly lost: readonly LostGood[];
  /** Edits of immutable objects: the former content stays in effect. */
  readonly refused: readonly Rejection[];
}

export function outcomeOf(file: ManifestFile, before: FileBefore): FileOutcome {
  if (file.reading.type === "Refused")
    return { entries: before.lastGood, lost: before.lost, refused: [] };
  const { manifest } = file.reading;
  const good = firstOfEach(entriesOf(manifest), entryKey).firsts;
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

/** True if the file equals its last good copies: then it is complete, however recently it was written. */
export function equalsLastGood(
  manifest: DecodedObject,
  lastGood: readonly ManifestEntry[],
): boolean {
  const entries = entriesOf(manifest);
  if (manifest.errors.length > 0 || entries.length === 0) return false;
  return textOf(entries) === textOf(lastGood);
}

/** The changes that bring the checkpoint from `before` to `after`. */
export function lastGoodChanges(before: LastGoodState, after: LastGoodState): LastGoodChanges {
  if (before.lastGood === after.lastGood && before.lost === after.lost)
    return { put: [], removed: [] };
  const old = new Map(rows(before.lastGood).map((row) => [rowKey(row), row]));
  const now = new Map(rows(after.lastGood).map((row) => [rowKey(row), row]));
  const put = [...now.values()].filter((row) => hasChanged(row, old.get(rowKey(row)))).map(copyOf);
  // A lost copy stays until its file is valid: it is readable again when its key is found.
  const lost = new Set([...after.lost.values()].flat().map(rowKey));
  const removed = [...old.values(), ...[...before.lost.values()].flat()].filter(
    (row) => !now.has(rowKey(row)) && !lost.has(rowKey(row)),
  );
  return {
    put,
    removed: removed.map(({ path, kind, namespace, name }) => ({ path, kind, namespace, name })),
  };
}

/** The last good entries that an invalid file may still contain. */
function keptBy(
  errors: readonly Rejection[],
  lastGood: readonly ManifestEntry[],
): readonly ManifestEntry[] {
  const known = new Set(lastGood.map(entryKey));
  const mayMean = (error: Rejection, entry: ManifestEntry): boolean => {
    const key = rejectedKey(error);
    if (key !== undefined && known.has(key)) return key === entryKey(entry);
    // An unknown name may be any missing entry of its kind, renamed; without a kind, any missing entry.
    return !isManifestKind(error.kind) || error.kind === nameOf(entry).kind;
  };
  return lastGood.filter((entry) => errors.some((error) => mayMean(error, entry)));
}

function withoutEdits(
  entries: readonly ManifestEntry[],
  lastGood: readonly ManifestEntry[],
): Pick<FileOutcome, "entries" | "refused"> {
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
  const { object } = now.desired;
  const errors = immutableErrors(before.desired.object, object);
  return errors.map((error) => rejectionOf(now.desired, object, error));
}

interface Row extends LastGoodKey {
  readonly entry: ManifestEntry;
}

function rows(entries: EntriesByFile): readonly Row[] {
  return [...entries].flatMap(([path, ofFile]) =>
    ofFile.map((entry) => ({ path, ...nameOf(entry), entry })),
  );
}

/** Texts are compared only if the file was read again: an object may have a megabyte. */
function hasChanged({ entry }: Row, stored: Row | undefined): boolean {
  if (stored === undefined) return true;
  if (stored.entry === entry) return false;
  if (stored.entry.document !== entry.document) return true;
  return canonicalJson(stored.entry.written) !== canonicalJson(entry.written);
}

function copyOf({ entry, ...key }: Row): LastGood {
  return { ...key, document: entry.document, text: canonicalJson(entry.written) };
}

function rowKey({ path, kind, namespace, name }: LastGoodKey): string {
  return JSON.stringify([path, kind, namespace, name]);
}

/** In an order that does not depend on where the entries come from. */
function textOf(entries: readonly ManifestEntry[]): string {
  return entries
    .map((entry) => `${entry.document} ${entryKey(entry)} ${canonicalJson(entry.written)}`)
    .toSorted()
    .join();
}
