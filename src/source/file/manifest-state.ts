// The state of the manifest files between two scans of the directory, and whether they have synced.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import { compareText } from "../../lib/compare.ts";
import { lostCopies, outcomeOf, type Outcomes } from "./manifest-last-good.ts";
import { isSameLook } from "./manifest-settle.ts";
import { digestOf, entryKey, type ManifestFile } from "./manifest-entry.ts";

export interface ManifestState {
  readonly files: ReadonlyMap<string, ManifestFile>;
  readonly outcomes: Outcomes;
  /** Files that disappeared with their directory: their entries stay in effect (typo-stops-nothing). */
  readonly held: ReadonlySet<string>;
  readonly directoryError: Rejection | undefined;
  /** Whether the files have synced (own-source-first); once true it stays true. */
  readonly ready: boolean;
  /** Keys of pods that no file declares any more, and that keep running until the files have synced. */
  readonly withdrawn: ReadonlySet<string>;
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

export function initialState(outcomes: Outcomes): ManifestState {
  return {
    files: new Map(),
    outcomes,
    held: new Set(),
    directoryError: undefined,
    ready: false,
    withdrawn: NO_PODS,
  };
}

/** The directory cannot be listed: everything else stays unchanged. */
export function withDirectoryError(state: ManifestState, error: Rejection): ManifestState {
  return state.directoryError?.message === error.message
    ? state
    : { ...state, directoryError: error };
}

/** The state after a scan; the same object if nothing changed. */
export function afterScan(state: ManifestState, scan: ScanOutcome): ManifestState {
  const files = new Map(state.files);
  const outcomes = new Map(state.outcomes);
  for (const path of scan.gone) for (const map of [files, outcomes]) map.delete(path);
  for (const file of scan.files) {
    const { path } = file;
    const outcome = outcomeOf(file, state.outcomes.get(path), scan.deleted.has(path));
    files.set(path, file);
    if (outcome.entries.length + outcome.lost.length > 0) outcomes.set(path, outcome);
    else outcomes.delete(path);
  }
  // Held files keep their last good entries, without content. Files that are neither seen nor held were removed before.
  for (const path of scan.held) files.delete(path);
  const known = { files, outcomes, held: scan.held, directoryError: undefined };
  const ready = state.ready || isReady(known, scan.waiting);
  const next = { ...known, ready, withdrawn: ready ? NO_PODS : withdrawnBy(state, known) };
  return isUnchanged(state, next, scan) ? state : next;
}

/** Whether every entry that was in effect before still is, in whatever file and version. */
export function keepsEntries(before: ManifestState, after: ManifestState): boolean {
  return keysOf(before).isSubsetOf(keysOf(after));
}

function keysOf({ outcomes }: ManifestState): ReadonlySet<string> {
  return new Set([...outcomes.values()].flatMap(({ entries }) => entries.map(entryKey)));
}

function withdrawnBy(before: ManifestState, { outcomes }: Known): ReadonlySet<string> {
  return before.withdrawn.union(podsOf(before)).difference(podsOf({ outcomes }));
}

function podsOf({ outcomes }: Pick<ManifestState, "outcomes">): ReadonlySet<string> {
  const entries = [...outcomes.values()].flatMap((outcome) => outcome.entries);
  return new Set(entries.filter(({ type }) => type === "Pod" || type === "Run").map(entryKey));
}

/** Every file is valid or has a last good copy, and no copy is lost. */
function isReady(known: Known, waiting: readonly string[]): boolean {
  const { files, outcomes } = known;
  if (withoutCopy(known).length > 0) return false;
  return waiting.every((path) => files.has(path) || hasEntries(outcomes, path));
}

type Known = Pick<ManifestState, "files" | "outcomes">;

const NO_PODS: ReadonlySet<string> = new Set();

/**
 * The files that keep the others from having synced, and withdrawn pods running: any pod may be theirs. Sorted; empty once
 * they have synced, and while no pod was withdrawn.
 */
export function holdingUp(state: ManifestState): readonly string[] {
  return state.withdrawn.size === 0 ? [] : withoutCopy(state);
}

function withoutCopy({ files, outcomes }: Known): readonly string[] {
  const isBroken = ({ reading }: ManifestFile): boolean =>
    reading.type === "Refused" ? reading.mayHoldPods : reading.manifest.errors.length > 0;
  const broken = [...files.values()].filter(
    (file) => isBroken(file) && !hasEntries(outcomes, file.path),
  );
  const paths = [...broken, ...lostCopies(outcomes)].map(({ path }) => path);
  return [...new Set(paths)].toSorted(compareText);
}

/** A Service does not count: a broken file beside it may hold any pod. */
function hasEntries(outcomes: Outcomes, path: string): boolean {
  return outcomes.get(path)?.entries.some(({ type }) => type !== "Service") ?? false;
}

function isUnchanged(state: ManifestState, next: ManifestState, scan: ScanOutcome): boolean {
  if (scan.gone.length > 0 || state.directoryError !== undefined) return false;
  if (state.ready !== next.ready || state.held.size !== scan.held.size) return false;
  if ([...scan.held].some((path) => !state.held.has(path))) return false;
  return scan.files.every((file) => {
    const before = state.files.get(file.path);
    if (before === undefined || !isSameLook(before.look, file.look)) return false;
    return digestOf(before) === digestOf(file);
  });
}
