// Performs: removes from stateDir what makes a node this node, so that every copy of its disk becomes a node of its own. A mark
// comes first: what is interrupted is finished before anything in stateDir is read again.

import type { Files } from "../host/files.ts";
import { syncPath } from "../lib/files/system-durable-file.ts";
import { below } from "./card-files.ts";
import {
  MAX_PREPARED_BYTES,
  PREPARED_FILE,
  preparedText,
  readPrepared,
  type PreparedMark,
} from "./prepared-mark.ts";
import { planState, TRIAL_MARKS } from "./state-parts.ts";

export type PrepareFiles = Pick<
  Files,
  "info" | "list" | "makeDirectory" | "read" | "remove" | "removeTree" | "writeAtomic"
>;

export interface StatePlaces {
  readonly files: PrepareFiles;
  /** As it lies on this machine: below the root of an image that is mounted. */
  readonly stateDir: string;
  readonly podLogsDir: string;
  readonly claimRoot: string;
  /** Unmounts everything below a directory. */
  readonly unmountBelow: (directory: string) => void;
}

export interface PreparePlan {
  readonly removed: readonly { readonly path: string; readonly what: string }[];
  /** Names in stateDir that the agent does not know, and that stay. */
  readonly unknown: readonly string[];
  readonly keepsClaims: boolean;
}

/** What `prepare` would remove. */
export function planPreparation(places: StatePlaces, claims: boolean): PreparePlan {
  const { files, stateDir, claimRoot } = places;
  const names = namesIn(files, stateDir);
  const { removed, unknown, hasClaims } = planState(names, claims);
  const versions = below(stateDir, "self-update");
  const marks = TRIAL_MARKS.map((name) => below(versions, name));
  const isElsewhere = claimRoot !== below(stateDir, "claims");
  const claimNames = isElsewhere ? namesIn(files, claimRoot) : [];
  const own = claimRoot.startsWith(`${stateDir}/`) ? claimRoot.slice(stateDir.length + 1) : "";
  return {
    removed: [
      // While the directories of pods still tell whose they are.
      ...podLogs(places).map((path) => ({ path, what: "logs of a pod" })),
      ...removed.map(({ name, what }) => ({ path: below(stateDir, name), what })),
      ...marks
        .filter((path) => files.info(path) !== undefined)
        .map((path) => ({ path, what: "the record of a version's trial" })),
      ...(claims ? claimNames : []).map((name) => ({
        path: below(claimRoot, name),
        what: "the data of claims",
      })),
    ],
    unknown: unknown.filter((name) => name !== own.split("/")[0]),
    keepsClaims: !claims && (hasClaims || claimNames.length > 0),
  };
}

/** Throws AgentError `FileError`; what was not removed is by the next run, or the next start of the agent. */
export function prepare(places: StatePlaces, mark: Omit<PreparedMark, "isDone">): void {
  const { files, stateDir } = places;
  files.makeDirectory(stateDir, 0o700);
  write(places, { ...mark, isDone: false });
  finish(places, { ...mark, isDone: false });
}

/** Finishes what was interrupted; true = there was something. */
export function finishPreparation(places: StatePlaces): boolean {
  const mark = preparedMark(places.files, places.stateDir);
  if (mark === undefined || mark.isDone) return false;
  finish(places, mark);
  return true;
}

/** undefined = this is no copy of a prepared image. A damaged mark removes nothing. */
export function preparedMark(
  files: Pick<Files, "info" | "read">,
  stateDir: string,
): PreparedMark | undefined {
  const path = below(stateDir, PREPARED_FILE);
  if (files.info(path) === undefined) return undefined;
  return readPrepared(files.read(path, MAX_PREPARED_BYTES));
}

function finish(places: StatePlaces, mark: PreparedMark): void {
  const { files, stateDir, unmountBelow } = places;
  unmountBelow(below(stateDir, "pods"));
  for (const { path } of planPreparation(places, mark.claims).removed) files.removeTree(path);
  // Gone for good, before the mark says so.
  syncPath(stateDir);
  const versions = below(stateDir, "self-update");
  if (files.info(versions) !== undefined) syncPath(versions);
  write(places, { ...mark, isDone: true });
}

function write({ files, stateDir }: StatePlaces, mark: PreparedMark): void {
  files.writeAtomic(below(stateDir, PREPARED_FILE), preparedText(mark), 0o600);
}

/** `<namespace>_<name>_<uid>` of pods that have a directory: others may belong to another agent. */
function podLogs({ files, stateDir, podLogsDir }: StatePlaces): readonly string[] {
  const pods = new Set(namesIn(files, below(stateDir, "pods")));
  return namesIn(files, podLogsDir)
    .filter((name) => pods.has(name.slice(name.lastIndexOf("_") + 1)))
    .map((name) => below(podLogsDir, name));
}

function namesIn(files: PrepareFiles, directory: string): readonly string[] {
  if (files.info(directory)?.kind !== "directory") return [];
  return files.list(directory).map(({ name }) => name);
}
