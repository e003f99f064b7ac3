// The snapshot of all manifest files: duplicates resolved, every problem listed.

import { type Rejection, type SourceSnapshot, manifestPath } from "../../api/pod/desired-pod.ts";
import type { LostGood } from "../../api/pod/last-good.ts";
import {
  entriesOf,
  entryKey,
  nameOf,
  type ManifestEntry,
  byPath,
  digestOf,
  type ManifestFile,
} from "./manifest-entry.ts";
import { holdingUp, type ManifestState } from "./manifest-state.ts";
import { compareText, firstOfEach } from "../../lib/compare.ts";
import { fileRejection } from "../rejections.ts";
import { lostCopies } from "./manifest-last-good.ts";

export function snapshotOf(state: ManifestState): SourceSnapshot {
  const byPathName = [...state.outcomes].toSorted(([a], [b]) => compareText(a, b));
  // The first file by path wins, then the first document.
  const { firsts, repeats } = firstOfEach(
    byPathName.flatMap(([, { entries }]) => entries),
    entryKey,
  );
  const services = firsts.flatMap((one) => (one.type === "Service" ? [one.desired] : []));
  const files = [...state.files.values()].toSorted(byPath);
  return {
    source: "file",
    ready: state.ready,
    pods: firsts.flatMap((entry) => (entry.type === "Pod" ? [entry.desired] : [])),
    objects: firsts.flatMap((entry) => (entry.type === "Object" ? [entry.desired] : [])),
    runs: firsts.flatMap((entry) => (entry.type === "Run" ? [entry.desired] : [])),
    ...(services.length === 0 ? {} : { services }),
    rejected: [
      ...(state.directoryError === undefined ? [] : [state.directoryError]),
      ...[...state.held].toSorted().map(heldRejection),
      ...removalsWait(holdingUp(state)),
      ...lostCopies(state.outcomes).map(lostRejection),
      ...files.flatMap((file) => [
        ...rejectionsOf(file),
        ...(state.outcomes.get(file.path)?.refused ?? []),
      ]),
      ...repeats.map(({ item, first }) => duplicate(item, first)),
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

/** Of one file: what is wrong with it, what is left out, and what it declares twice. */
export function rejectionsOf(file: ManifestFile): readonly Rejection[] {
  if (file.reading.type === "Refused") return [file.reading.rejection];
  const { manifest } = file.reading;
  const { repeats } = firstOfEach(entriesOf(manifest), entryKey);
  const twice = repeats.map(({ item, first }) => duplicate(item, first));
  return [...manifest.errors, ...manifest.ignoredKinds, ...manifest.notices, ...twice];
}

/** What is no mistake of a Service is none if it stands twice. */
const DUPLICATES: Readonly<Record<ManifestEntry["type"], string>> = {
  Pod: "DuplicatePod",
  Object: "DuplicateObject",
  Run: "DuplicateObject",
  Service: "Ignored",
};

function duplicate(entry: ManifestEntry, winner: ManifestEntry): Rejection {
  const [loses, wins] = [entry.desired.sourceRef, winner.desired.sourceRef];
  const { namespace, name } = nameOf(entry);
  const [what, does] =
    entry.type === "Pod" ? [`${namespace}/${name}`, "runs"] : [entryKey(entry), "counts"];
  return {
    source: entry.desired.source,
    ref: manifestPath(loses),
    ...nameOf(entry),
    code: DUPLICATES[entry.type],
    path: "metadata.name",
    message: `${what} is declared twice, in ${wins} and in ${loses}; ${wins} ${does}, the other is left out`,
  };
}

function heldRejection(path: string): Rejection {
  return fileRejection(path, {
    code: "DirectoryReplaced",
    message:
      "went away together with its directory; its pods keep running until the file is put back and deleted, or the agent is restarted",
  });
}

function lostRejection({ path, kind, namespace, name, why }: LostGood): Rejection {
  const message = `the last good copy of ${kind} ${namespace}/${name} cannot be read: ${why}; make the file valid, or delete it`;
  return { ...fileRejection(path, { code: "LastGoodLost", message }), kind, namespace, name };
}

const NAMED = 3;

/** Without it the operator sees a pod that runs on after its file was deleted, and no reason (own-source-first). */
function removalsWait([first, ...others]: readonly string[]): readonly Rejection[] {
  if (first === undefined) return [];
  const more = others.length > NAMED ? `, and ${others.length - NAMED} more` : "";
  const also = others.length === 0 ? "" : `; so do ${others.slice(0, NAMED).join(", ")}${more}`;
  const message = `pods whose files are deleted keep running, because no valid version of this file was read since the agent has started, and it may declare them: make it valid, or delete it${also}`;
  return [fileRejection(first, { code: "RemovalsWait", message })];
}
