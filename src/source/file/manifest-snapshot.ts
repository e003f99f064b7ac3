// The snapshot of all manifest files: duplicates resolved, every problem listed.

import type { Rejection, SourceSnapshot } from "../../api/pod/desired-pod.ts";
import type { LostGood } from "../../api/pod/last-good.ts";
import {
  entriesOf,
  entryKey,
  nameOf,
  type EntriesByFile,
  type ManifestEntry,
  byPath,
  digestOf,
  type ManifestFile,
} from "./manifest-entry.ts";
import type { ManifestState } from "./manifest-state.ts";
import { compareText } from "../../lib/compare.ts";

export function snapshotOf(state: ManifestState): SourceSnapshot {
  const { winners, duplicates } = withoutDuplicates(state.lastGood);
  const files = [...state.files.values()].toSorted(byPath);
  return {
    source: "file",
    ready: state.ready,
    pods: winners.flatMap((entry) => (entry.type === "Pod" ? [entry.desired] : [])),
    objects: winners.flatMap((entry) => (entry.type === "Object" ? [entry.desired] : [])),
    rejected: [
      ...(state.directoryError === undefined ? [] : [state.directoryError]),
      ...[...state.held].toSorted().map(heldRejection),
      ...[...state.lost.values()].flat().map(lostRejection),
      ...files.flatMap((file) => [...rejectionsOf(file), ...(state.refused.get(file.path) ?? [])]),
      ...duplicates,
    ],
  };
}

/** Lines `path sha256` of all files that could be read, sorted: what the "static" acknowledgement hashes. */
export function digestText(state: ManifestState): string {
  return [...state.files.values()]
    .toSorted(byPath)
    .map((file) => `${file.path} ${digestOf(file)}\n`)
    .join("");
}

function rejectionsOf(file: ManifestFile): readonly Rejection[] {
  if (file.reading.type === "Refused") return [file.reading.rejection];
  const { manifest } = file.reading;
  const firsts = new Map<string, ManifestEntry>();
  const twice = entriesOf(manifest).flatMap((entry) => {
    const first = firsts.get(entryKey(entry));
    if (first !== undefined) return [duplicate(file.path, entry, first)];
    firsts.set(entryKey(entry), entry);
    return [];
  });
  return [...manifest.errors, ...manifest.refusedKinds, ...manifest.notices, ...twice];
}

/** The first file by path wins, then the first document. */
function withoutDuplicates(byFile: EntriesByFile): {
  readonly winners: readonly ManifestEntry[];
  readonly duplicates: readonly Rejection[];
} {
  const winners = new Map<string, ManifestEntry>();
  const duplicates: Rejection[] = [];
  for (const [path, entries] of [...byFile].toSorted(([a], [b]) => compareText(a, b)))
    for (const entry of entries) {
      const winner = winners.get(entryKey(entry));
      if (winner === undefined) winners.set(entryKey(entry), entry);
      else duplicates.push(duplicate(path, entry, winner));
    }
  return { winners: [...winners.values()], duplicates };
}

function duplicate(path: string, entry: ManifestEntry, winner: ManifestEntry): Rejection {
  const { kind, namespace, name } = nameOf(entry);
  const [loses, wins] = [entry.desired.sourceRef, winner.desired.sourceRef];
  const [what, does] =
    entry.type === "Pod"
      ? [`${namespace}/${name}`, "runs"]
      : [`${kind} ${namespace}/${name}`, "counts"];
  return {
    source: "file",
    ref: path,
    kind,
    namespace,
    name,
    code: entry.type === "Pod" ? "DuplicatePod" : "DuplicateObject",
    path: "metadata.name",
    message: `${what} is declared twice, in ${wins} and in ${loses}; ${wins} ${does}, the other is left out`,
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

function lostRejection({ path, kind, namespace, name, why }: LostGood): Rejection {
  return {
    source: "file",
    ref: path,
    kind,
    namespace,
    name,
    code: "LastGoodLost",
    path: "",
    message: `the last good copy of ${kind} ${namespace}/${name} cannot be read: ${why}; make the file valid, or delete it`,
  };
}
