// Decides what a node takes from its provisioning directory: everything at the first start, later only what it has not got yet.

import { compareText } from "../lib/compare.ts";
import { CONFIG_NAME, targetOf, type Places } from "./card-files.ts";
import type { GoodFile } from "./judge-card.ts";
import { NO_MARK, type Mark, type StagedFile } from "./mark.ts";
import type { CardArchive, CardRefusal } from "./read-card.ts";

export interface TakeFacts {
  readonly directory: string;
  readonly good: readonly GoodFile[];
  readonly refused: readonly CardRefusal[];
  readonly archives: readonly CardArchive[];
  /** undefined = nothing was ever taken. */
  readonly mark: Mark | undefined;
  readonly places: Places;
  /** A person asks for it again. */
  readonly again: boolean;
  readonly digestOf: (bytes: Uint8Array) => string;
  /** The digest of what lies at the target; undefined = nothing. */
  readonly present: (target: string) => string | undefined;
}

export interface PlannedFile extends StagedFile {
  readonly bytes: Uint8Array;
}

export interface IgnoredFile {
  readonly name: string;
  readonly why: string;
}

export interface Take {
  /** The configuration first. */
  readonly files: readonly PlannedFile[];
  /** Names of image archives that are imported from where they are. */
  readonly archives: readonly string[];
  /** As it shall be afterwards. */
  readonly mark: Mark;
  readonly isMarkChanged: boolean;
  readonly ignored: readonly IgnoredFile[];
  /** Secrets that the node has, and that must not stay in the directory. */
  readonly secrets: readonly PlannedFile[];
}

const DIFFERS = "differs from what was taken over at the first start";
const PRESENT = "came after the first start, and the node has another file in its place";
const NO_TARGET = "two files have the same place on the node";

export function planTake(facts: TakeFacts): Take {
  const { mark = NO_MARK, archives } = facts;
  const isFirst = facts.mark === undefined || facts.again;
  const planned = facts.good.map((file) => plannedFile(file, facts));
  const config = planned.find(({ name }) => name === CONFIG_NAME);
  const isConfigNew = config !== undefined && decide(config, facts, false) === "Take";
  const decided = planned.map((file) => ({ file, decision: decide(file, facts, isConfigNew) }));
  const taken = decided.flatMap(({ file, decision }) => (decision === "Take" ? [file] : []));
  const files = [...withoutTwins(taken)].toSorted(byOrder);
  const newArchives = archives.filter(({ name }) => isFirst || !mark.archives.has(name));
  const known = new Map([
    ...mark.archives,
    ...newArchives.map(({ name, size }) => [name, size] as const),
  ]);
  const next: Mark = {
    directory: facts.directory,
    files: new Map([
      ...mark.files,
      ...files.map(({ name, sha256, target }) => [name, { sha256, target }] as const),
    ]),
    archives: known,
    refused: new Set(facts.refused.map(({ name }) => name)),
  };
  return {
    files,
    archives: archives.filter(({ name, size }) => known.get(name) === size).map(({ name }) => name),
    mark: next,
    isMarkChanged: files.length > 0 || newArchives.length > 0,
    ignored: [
      ...decided.flatMap(({ file: { name }, decision }) =>
        decision === "Differs" ? [{ name, why: DIFFERS }] : [],
      ),
      ...decided.flatMap(({ file: { name }, decision }) =>
        decision === "Present" ? [{ name, why: PRESENT }] : [],
      ),
      ...taken
        .filter((file) => !files.includes(file))
        .map(({ name }) => ({ name, why: NO_TARGET })),
      ...archives
        .filter(({ name, size }) => known.get(name) !== size)
        .map(({ name }) => ({ name, why: DIFFERS })),
    ],
    secrets: decided.flatMap(({ file, decision }) =>
      decision === "Has" && file.isSecret ? [file] : [],
    ),
  };
}

function plannedFile(file: GoodFile, { places, digestOf }: TakeFacts): PlannedFile {
  const { name, kind, bytes, isSecret } = file;
  return {
    name,
    bytes,
    isSecret,
    target: targetOf(kind, name, places),
    sha256: digestOf(bytes),
    mode: isSecret ? 0o600 : 0o644,
  };
}

type Decision = "Take" | "Has" | "Differs" | "Present";

/** `isConfigNew`: the configuration changes now, and with it perhaps the place of the file. */
function decide(file: PlannedFile, facts: TakeFacts, isConfigNew: boolean): Decision {
  const { mark, again, present } = facts;
  if (mark === undefined || again) return "Take";
  const before = mark.files.get(file.name);
  if (before !== undefined) {
    if (before.sha256 !== file.sha256) return "Differs";
    return isConfigNew && before.target !== file.target ? "Take" : "Has";
  }
  if (mark.refused.has(file.name)) return "Take";
  const there = present(file.target);
  return there === undefined || there === file.sha256 ? "Take" : "Present";
}

/** The first by name of those with one target. */
function withoutTwins(files: readonly PlannedFile[]): readonly PlannedFile[] {
  const first = new Map<string, PlannedFile>();
  for (const file of files.toSorted((a, b) => compareText(a.name, b.name)))
    if (!first.has(file.target)) first.set(file.target, file);
  return [...first.values()];
}

/** The configuration first: it says where the rest of an interrupted take-over is looked for. */
function byOrder(a: PlannedFile, b: PlannedFile): number {
  const rank = ({ name }: PlannedFile): number => (name === CONFIG_NAME ? 0 : 1);
  return rank(a) - rank(b) || compareText(a.name, b.name);
}
