// Performs: checks the versions of the agent that self-update keeps, without changing them.

import { existsSync, readFileSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { errorCode } from "../../lib/errors.ts";
import { digestFile } from "../tree/digest-file.ts";
import { isVersionName, readTrial } from "./version-records.ts";

export interface VersionProblem {
  readonly file: string;
  readonly what: string;
  readonly remedy: string;
}

export interface VersionsCheck {
  /** `stateDir/self-update` */
  readonly place: string;
  /** Without comparing digests. */
  readonly isLight: boolean;
  readonly signal: AbortSignal;
}

const SHOWN_DIGITS = 12;
const MIN_BYTES = 1024 * 1024;
const RECORD_BYTES = 64 * 1024;

/** How many versions there are, and what is wrong. */
export async function checkVersions({ place, isLight, signal }: VersionsCheck): Promise<{
  readonly versions: number;
  readonly problems: readonly VersionProblem[];
}> {
  const directory = join(place, "versions");
  const names = existsSync(directory) ? readdirSync(directory).filter(isVersionName) : [];
  const problems: VersionProblem[] = [...linkProblems(place), ...trialProblems(place)];
  for (const name of names) {
    const file = join(directory, name, "agent");
    const why = await binaryProblem(file, { name, isLight, signal });
    if (why !== undefined) problems.push({ file, what: why, remedy: remedyFor(place, name) });
  }
  return { versions: names.length, problems };
}

/** The name of a version ends with the first digits of the digest of its binary. */
async function binaryProblem(
  file: string,
  { name, isLight, signal }: Omit<VersionsCheck, "place"> & { readonly name: string },
): Promise<string | undefined> {
  const info = statSync(file, { throwIfNoEntry: false });
  if (info?.isFile() !== true) return "the binary of this version is missing";
  if (info.size < MIN_BYTES) return `it has only ${info.size} bytes`;
  if (isLight) return undefined;
  const { sha256 } = await digestFile(file, { signal });
  return name.endsWith(sha256.slice(0, SHOWN_DIGITS))
    ? undefined
    : "its content does not have the digest that its name says";
}

function linkProblems(place: string): readonly VersionProblem[] {
  return ["current", "previous"].flatMap((link) => {
    const file = join(place, link);
    const target = linkOf(file);
    if (target === undefined || target === "installed") return [];
    if (existsSync(join(place, target, "agent"))) return [];
    const what = `it leads to ${target}, where there is no version`;
    const remedy = `rm ${file}: the installed version runs then`;
    return [{ file, what, remedy }];
  });
}

function trialProblems(place: string): readonly VersionProblem[] {
  const file = join(place, "trial");
  const info = statSync(file, { throwIfNoEntry: false });
  if (info === undefined) return [];
  const isWhole =
    info.isFile() &&
    info.size <= RECORD_BYTES &&
    readTrial(readFileSync(file, "utf8")) !== undefined;
  if (isWhole) return [];
  const remedy =
    "nothing: the launcher removes it at the next start, and the update can be ordered again";
  return [{ file, what: "the record of the update under way cannot be read", remedy }];
}

function remedyFor(place: string, name: string): string {
  const isCurrent = basename(linkOf(join(place, "current")) ?? "") === name;
  return isCurrent
    ? "agent self-update --back, or agent install with an intact binary"
    : `rm -r ${join(place, "versions", name)}: it does not run now`;
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (["ENOENT", "EINVAL", "ENOTDIR"].includes(errorCode(error))) return undefined;
    throw error;
  }
}
