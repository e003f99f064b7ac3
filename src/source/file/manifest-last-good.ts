// Which entries of a manifest file are in effect: the valid ones, the last good copy of what is invalid, and the former
// content of an immutable object; and how the stored copies are read after a restart.

import type { DecodeContext, DecodedObject } from "../../api/decode/decode-context.ts";
import { type Rejection, manifestRef } from "../../api/pod/desired-pod.ts";
import type {
  LastGood,
  LastGoodChanges,
  LastGoodKey,
  LostGood,
  LastGoodCopies,
} from "../../api/pod/last-good.ts";
import {
  byPlace,
  entriesOf,
  entryKey,
  isManifestKind,
  keyOf,
  nameOf,
  rejectedKey,
  type ManifestEntry,
  type ManifestFile,
} from "./manifest-entry.ts";
import { rejectionOf } from "../rejections.ts";
import { canonicalJson, parseJson } from "../../lib/json.ts";
import { firstOfEach } from "../../lib/compare.ts";
import { immutableErrors } from "../immutable-objects.ts";
import { decodeObject } from "../../api/decode/decode-object.ts";
import { fileHand } from "../../store/start-guard/hand.ts";
import type { WorkGuard } from "../../store/start-guard/start-guard.ts";

export interface FileOutcome {
  /** In effect: the valid ones, or the last good ones. */
  readonly entries: readonly ManifestEntry[];
  /** Copies that can no longer be read: their content is known again when the file is valid. */
  readonly lost: readonly LostGood[];
  /** Edits of immutable objects: the former content stays in effect. */
  readonly refused: readonly Rejection[];
}

/** By path: every file with an entry or a lost copy. The checkpoint holds their entries. */
export type Outcomes = ReadonlyMap<string, FileOutcome>;

const NOTHING: FileOutcome = { entries: [], lost: [], refused: [] };

/** `isNew`: the file was deleted in between, so its content is no edit. */
export function outcomeOf(
  file: ManifestFile,
  before: FileOutcome = NOTHING,
  isNew = false,
): FileOutcome {
  if (file.reading.type === "Refused") return { ...before, refused: [] };
  const { manifest } = file.reading;
  const good = firstOfEach(entriesOf(manifest), entryKey).firsts;
  const declared = new Set(good.map(entryKey));
  for (const notice of manifest.notices)
    if (notice.code === "NotForThisNode") declared.add(rejectedKey(notice) ?? "");
  const kept = keptBy(manifest.errors, before.entries).filter(
    (entry) => !declared.has(entryKey(entry)),
  );
  const { entries, refused } = isNew
    ? { entries: good, refused: [] }
    : withoutEdits(good, before.entries);
  return {
    entries: [...entries, ...kept].toSorted(byPlace),
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
export function lastGoodChanges(before: Outcomes, after: Outcomes): LastGoodChanges {
  if (before === after) return { put: [], removed: [] };
  const [old, now] = [rowsOf(before), rowsOf(after)];
  const put = [...now.values()].filter((row) => hasChanged(row, old.get(rowKey(row)))).map(copyOf);
  // A lost copy stays until its file is valid: it is readable again when its key is found.
  const lost = new Set(lostCopies(after).map(rowKey));
  const removed = [...old.values(), ...lostCopies(before)].filter(
    (row) => !now.has(rowKey(row)) && !lost.has(rowKey(row)),
  );
  return {
    put,
    removed: removed.map(({ path, kind, namespace, name }) => ({ path, kind, namespace, name })),
  };
}

export function lostCopies(outcomes: Outcomes): readonly LostGood[] {
  return [...outcomes.values()].flatMap(({ lost }) => lost);
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
  if (before.type !== "Object" || now.type !== "Object") return [];
  const { object } = now.desired;
  const errors = immutableErrors(before.desired.object, object);
  return errors.map((error) => rejectionOf(now.desired, object, error));
}

interface Row extends LastGoodKey {
  readonly entry: ManifestEntry;
}

function rowsOf(outcomes: Outcomes): ReadonlyMap<string, Row> {
  const rows = [...outcomes].flatMap(([path, { entries }]) =>
    entries.map((entry) => ({ path, ...nameOf(entry), entry })),
  );
  return new Map(rows.map((row) => [rowKey(row), row]));
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

interface RestoreContext extends Pick<DecodeContext, "nodeName" | "sha256"> {
  /** Absent = files. */
  readonly source?: "file" | "http";
  /** Absent = no copy waits. */
  readonly guard?: WorkGuard;
}

/** Lenient: what was accepted once is not judged again (boring-restart). */
export function restoreEntries(saved: LastGoodCopies, context: RestoreContext): Outcomes {
  const outcomes = new Map<string, { entries: ManifestEntry[]; lost: LostGood[]; refused: [] }>();
  const of = (path: string) => outcomes.getOrInsert(path, { entries: [], lost: [], refused: [] });
  for (const copy of saved.copies) {
    const hand = fileHand(copy.path, context.sha256(copy.text));
    const why = context.guard?.waits(hand);
    if (why !== undefined) {
      of(copy.path).lost.push({ ...lostCopy(copy), why });
      continue;
    }
    using held = context.guard?.hold(hand);
    const entry = entryOf(copy, context);
    held?.settle();
    if (entry === undefined) of(copy.path).lost.push(lostCopy(copy));
    else of(copy.path).entries.push(entry);
  }
  for (const copy of saved.lost) of(copy.path).lost.push(copy);
  for (const { entries } of outcomes.values()) entries.sort(byPlace);
  return outcomes;
}

function entryOf(
  copy: LastGood,
  { nodeName, sha256, source = "file" }: RestoreContext,
): ManifestEntry | undefined {
  const { path, document } = copy;
  const sourceRef = manifestRef(path, document);
  const origin = { source, ref: path, sourceRef };
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
