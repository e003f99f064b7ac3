// The state of the manifest files between two scans of the directory, and whether they have synced.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import { outcomeOf, type LastGoodState } from "./manifest-last-good.ts";
import { isSameLook } from "./manifest-settle.ts";
import { digestOf, type ManifestFile } from "./manifest-entry.ts";

export interface ManifestState extends LastGoodState {
  readonly files: ReadonlyMap<string, ManifestFile>;
  /** By file: valid content that must not take effect, such as an edit of an immutable object. */
  readonly refused: ReadonlyMap<string, readonly Rejection[]>;
  /** Files that disappeared with their directory: their entries stay in effect (typo-stops-nothing). */
  readonly held: ReadonlySet<string>;
  readonly directoryError: Rejection | undefined;
  /** Whether the files have synced (own-source-first); once true it stays true. */
  readonly ready: boolean;
}

export interface ScanOutcome {
  readonly files: readonly ManifestFile[];
  readonly gone: readonly string[];
  readonly held: ReadonlySet<string>;
  /** Files that are not read yet, because they may still be being written. */
  readonly waiting: readonly string[];
  /** Files that were certainly deleted since they were last read, and may exist again. */
  readonly deleted: ReadonlySet<string>;
}

export function initialState(checkpoint: LastGoodState): ManifestState {
  return {
    ...checkpoint,
    files: new Map(),
    refused: new Map(),
    held: new Set(),
    directoryError: undefined,
    ready: false,
  };
}

/** The directory cannot be listed: everything else stays unchanged. */
export function withDirectoryError(state: ManifestState, error: Rejection): ManifestState {
  return state.directoryError?.message === error.message
    ? state
    : { ...state, directoryError: error };
}

/** The state after a scan; the same object if nothing changed. */
export function afterScan(state: ManifestState, outcome: ScanOutcome): ManifestState {
  const files = new Map(state.files);
  const lastGood = new Map(state.lastGood);
  const lost = new Map(state.lost);
  const refused = new Map(state.refused);
  for (const path of outcome.gone)
    for (const map of [files, lastGood, lost, refused]) map.delete(path);
  for (const file of outcome.files) {
    const { path } = file;
    files.set(path, file);
    const word = outcomeOf(file, {
      lastGood: state.lastGood.get(path) ?? [],
      lost: state.lost.get(path) ?? [],
      isNew: outcome.deleted.has(path),
    });
    put(lastGood, path, word.entries);
    put(lost, path, word.lost);
    put(refused, path, word.refused);
  }
  // Held files keep their last good entries, without content. Files that are neither seen nor held were removed before.
  for (const path of outcome.held) files.delete(path);
  const known = { files, lastGood, lost, refused, held: outcome.held, directoryError: undefined };
  const next = { ...known, ready: state.ready || isReady(known, outcome.waiting) };
  return isUnchanged(state, next, outcome) ? state : next;
}

function put<T>(map: Map<string, readonly T[]>, path: string, items: readonly T[]): void {
  if (items.length > 0) map.set(path, items);
  else map.delete(path);
}

/** Every file is valid or has a last good copy, and no copy is lost. */
function isReady(
  { files, lastGood, lost }: Pick<ManifestState, "files" | "lastGood" | "lost">,
  waiting: readonly string[],
): boolean {
  const isBroken = ({ reading }: ManifestFile): boolean =>
    reading.type === "Refused" ? reading.mayHoldPods : reading.manifest.errors.length > 0;
  const silent = [...files.values()].filter((file) => isBroken(file) && !lastGood.has(file.path));
  if (silent.length > 0 || lost.size > 0) return false;
  return waiting.every((path) => files.has(path) || lastGood.has(path));
}

function isUnchanged(state: ManifestState, next: ManifestState, outcome: ScanOutcome): boolean {
  if (outcome.gone.length > 0 || state.directoryError !== undefined) return false;
  if (state.ready !== next.ready || state.held.size !== outcome.held.size) return false;
  if ([...outcome.held].some((path) => !state.held.has(path))) return false;
  return outcome.files.every((file) => {
    const before = state.files.get(file.path);
    if (before === undefined || !isSameLook(before.look, file.look)) return false;
    return digestOf(before) === digestOf(file);
  });
}
