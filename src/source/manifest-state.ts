// What the manifest files say together: last good kept, duplicates settled, readiness. Pure.

import type { ManifestPod, DecodedManifest } from "../api/decode-manifest.ts";
import { writtenText } from "../api/decode-object.ts";
import type { Rejection, SourceSnapshot } from "../api/desired-pod.ts";
import type { LastGood, LastGoodChanges } from "../api/last-good.ts";
import { podName } from "../api/pod.ts";
import { isSameLook, type Look } from "./manifest-settle.ts";

/** The outcome of reading one file. */
export type Reading =
  | { readonly type: "Decoded"; readonly digest: string; readonly manifest: DecodedManifest }
  /** Not readable as a manifest at all; `mayHoldPods` is false for what never was a file. */
  | { readonly type: "Refused"; readonly rejection: Rejection; readonly mayHoldPods: boolean };

export interface ManifestFile {
  readonly path: string;
  readonly look: Look;
  readonly reading: Reading;
}

/** Pods by file: those that run, whether the file is valid now or was when they were read. */
export type PodsByFile = ReadonlyMap<string, readonly ManifestPod[]>;

export interface ManifestState {
  readonly files: ReadonlyMap<string, ManifestFile>;
  readonly lastGood: PodsByFile;
  /** Files that went with their whole directory: their pods stay (law 10). */
  readonly held: ReadonlySet<string>;
  readonly directoryError: Rejection | undefined;
  /** Whether the files have spoken (law 5); once true it stays true. */
  readonly ready: boolean;
}

export interface ScanOutcome {
  readonly files: readonly ManifestFile[];
  readonly gone: readonly string[];
  readonly held: ReadonlySet<string>;
  /** Files that are there but not yet read, because somebody may still be writing them. */
  readonly waiting: readonly string[];
}

export function initialState(lastGood: PodsByFile): ManifestState {
  return {
    files: new Map(),
    lastGood,
    held: new Set(),
    directoryError: undefined,
    ready: false,
  };
}

/** The directory cannot be listed: everything stays as it was. */
export function withDirectoryError(state: ManifestState, error: Rejection): ManifestState {
  return state.directoryError?.message === error.message
    ? state
    : { ...state, directoryError: error };
}

/** The state after a scan; the same object if nothing changed. */
export function afterScan(state: ManifestState, outcome: ScanOutcome): ManifestState {
  const files = new Map(state.files);
  const lastGood = new Map(state.lastGood);
  for (const path of outcome.gone) {
    files.delete(path);
    lastGood.delete(path);
  }
  for (const file of outcome.files) {
    files.set(file.path, file);
    const good = podsOf(file, state.lastGood.get(file.path) ?? []);
    if (good.length > 0) lastGood.set(file.path, good);
    else lastGood.delete(file.path);
  }
  // What is not there any more and is not held was gone before; held files keep their pods but have no content.
  for (const path of outcome.held) files.delete(path);
  const ready = state.ready || isReady(files, lastGood, outcome.waiting);
  const next = { files, lastGood, held: outcome.held, directoryError: undefined, ready };
  return isUnchanged(state, next, outcome) ? state : next;
}

export function snapshotOf(state: ManifestState): SourceSnapshot {
  const { pods, duplicates } = withoutDuplicates(state.lastGood);
  const rejected = [...state.files.values()].toSorted(byPath).flatMap(rejectionsOf);
  const held = [...state.held].toSorted().map(heldRejection);
  const directory = state.directoryError === undefined ? [] : [state.directoryError];
  return {
    source: "file",
    ready: state.ready,
    pods: pods.map((pod) => pod.desired),
    rejected: [...directory, ...held, ...rejected, ...duplicates],
  };
}

/** Lines `path sha256` of all files that could be read, sorted: what the "static" acknowledgement hashes. */
export function digestText(state: ManifestState): string {
  return [...state.files.values()]
    .toSorted(byPath)
    .map((file) => `${file.path} ${digestOf(file)}\n`)
    .join("");
}

/** sha256 of the content; empty if it is no manifest at all. */
export function digestOf({ reading }: ManifestFile): string {
  return reading.type === "Decoded" ? reading.digest : "";
}

/** What the checkpoint has to change to hold `after`. */
export function lastGoodChanges(before: PodsByFile, after: PodsByFile): LastGoodChanges {
  if (before === after) return { put: [], removed: [] };
  const old = new Map(rows(before).map((row) => [keyOf(row), row]));
  const now = new Map(rows(after).map((row) => [keyOf(row), row]));
  const put = [...now.values()].filter((row) => {
    const stored = old.get(keyOf(row));
    return stored?.text !== row.text || stored.document !== row.document;
  });
  const removed = [...old.values()].filter((row) => !now.has(keyOf(row)));
  return { put, removed: removed.map(({ path, namespace, name }) => ({ path, namespace, name })) };
}

/** True if the file says exactly what its last good copies say: then it is whole, however young it is. */
export function saysTheSame(manifest: DecodedManifest, lastGood: readonly ManifestPod[]): boolean {
  if (manifest.errors.length > 0 || manifest.pods.length === 0) return false;
  const texts = (pods: readonly ManifestPod[]) =>
    pods.map((pod) => writtenText(pod.written)).join();
  return texts(manifest.pods) === texts(lastGood);
}

/** The pods that run because of one file: what is valid in it, and the last good copy of what is not. */
function podsOf(file: ManifestFile, lastGood: readonly ManifestPod[]): readonly ManifestPod[] {
  if (file.reading.type === "Refused") return lastGood;
  const { manifest } = file.reading;
  const good = firstOfEachName(manifest.pods);
  if (manifest.errors.length === 0) return good;
  const declared = new Set(good.map(nameOf));
  for (const notice of manifest.notices)
    if (notice.code === "NotForThisNode") declared.add(rejectedName(notice) ?? "");
  const broken = new Set(manifest.errors.map(rejectedName));
  const known = new Set(lastGood.map(nameOf));
  // A broken object under a name that never was good may be any of the missing ones, renamed or unreadable.
  const unidentified = [...broken].some((name) => name === undefined || !known.has(name));
  const kept = lastGood.filter(
    (pod) => !declared.has(nameOf(pod)) && (unidentified || broken.has(nameOf(pod))),
  );
  return [...good, ...kept].toSorted((a, b) => a.document - b.document);
}

/** Every file is valid or has a last good copy. */
function isReady(
  files: ReadonlyMap<string, ManifestFile>,
  lastGood: PodsByFile,
  waiting: readonly string[],
): boolean {
  const isBroken = ({ reading }: ManifestFile): boolean =>
    reading.type === "Refused" ? reading.mayHoldPods : reading.manifest.errors.length > 0;
  const silent = [...files.values()].filter((file) => isBroken(file) && !lastGood.has(file.path));
  return silent.length === 0 && waiting.every((path) => files.has(path) || lastGood.has(path));
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

function rejectionsOf(file: ManifestFile): readonly Rejection[] {
  if (file.reading.type === "Refused") return [file.reading.rejection];
  const { pods, errors, refusedKinds, notices } = file.reading.manifest;
  const twice = pods.flatMap((pod) => {
    const first = pods.find((other) => nameOf(other) === nameOf(pod));
    return first === undefined || first === pod ? [] : [duplicate(file.path, pod, first)];
  });
  return [...errors, ...refusedKinds, ...notices, ...twice];
}

/** The first file by path wins, then the first document. */
function withoutDuplicates(byFile: PodsByFile): {
  readonly pods: readonly ManifestPod[];
  readonly duplicates: readonly Rejection[];
} {
  const winners = new Map<string, ManifestPod>();
  const duplicates: Rejection[] = [];
  for (const [path, pods] of [...byFile].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    for (const pod of pods) {
      const winner = winners.get(nameOf(pod));
      if (winner === undefined) winners.set(nameOf(pod), pod);
      else duplicates.push(duplicate(path, pod, winner));
    }
  return { pods: [...winners.values()], duplicates };
}

function duplicate(path: string, pod: ManifestPod, winner: ManifestPod): Rejection {
  const { namespace, name } = pod.desired.pod.metadata;
  const [loses, wins] = [pod.desired.sourceRef, winner.desired.sourceRef];
  return {
    source: "file",
    ref: path,
    kind: "Pod",
    namespace,
    name,
    code: "DuplicatePod",
    path: "metadata.name",
    message: `${namespace}/${name} is declared twice, in ${wins} and in ${loses}; ${wins} runs, the other is left out`,
  };
}

function heldRejection(path: string): Rejection {
  return {
    source: "file",
    ref: path,
    code: "DirectoryReplaced",
    path: "",
    message:
      "went away together with its directory; its pods keep running until the file is put back and deleted, or the agent is restarted",
  };
}

function firstOfEachName(pods: readonly ManifestPod[]): readonly ManifestPod[] {
  const byName = new Map<string, ManifestPod>();
  for (const pod of pods) if (!byName.has(nameOf(pod))) byName.set(nameOf(pod), pod);
  return [...byName.values()];
}

function rows(pods: PodsByFile): readonly LastGood[] {
  return [...pods].flatMap(([path, ofFile]) =>
    ofFile.map((pod) => {
      const { namespace, name } = pod.desired.pod.metadata;
      return { path, document: pod.document, namespace, name, text: writtenText(pod.written) };
    }),
  );
}

function keyOf(row: LastGood): string {
  return JSON.stringify([row.path, row.namespace, row.name]);
}

function nameOf(pod: ManifestPod): string {
  return podName(pod.desired.pod);
}

function rejectedName(rejection: Rejection): string | undefined {
  const { namespace, name } = rejection;
  return namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`;
}

function byPath(a: ManifestFile, b: ManifestFile): number {
  return a.path < b.path ? -1 : 1;
}
