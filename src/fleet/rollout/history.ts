// Performs: `fleet-history/`: every document that a rollout began with or replaced, one file each, so that a rollout can be
// taken back. A plain directory: it lives well in git, and copies of it may be merged.

import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../cli/exit-codes.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../lib/json.ts";
import { errorCode } from "../../lib/errors.ts";

export const HISTORY = "fleet-history";

export interface HistoryVersion {
  readonly group: string;
  readonly epoch: string;
  readonly generation: number;
}

/** Replaces what is there of the version. Throws what the file system throws. */
export function keepDocument(
  directory: string,
  version: HistoryVersion,
  document: JsonObject,
): void {
  const path = pathOf(directory, version);
  mkdirSync(join(directory, version.group), { recursive: true, mode: 0o700 });
  const draft = `${path}.new`;
  // It may hold Secrets.
  writeFileSync(draft, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** Throws UsageError when it is not there, or is no document. */
export function keptDocument(directory: string, version: HistoryVersion): JsonObject {
  const path = pathOf(directory, version);
  const value = parseJson(textOf(path, version));
  if (isJsonObject(value) && value["kind"] === "DesiredState") return value;
  throw new UsageError(`${path} is no DesiredState; restore it, or name the files with -f`);
}

function textOf(path: string, { group, generation }: HistoryVersion): string {
  try {
    return readFileSync(path, "utf8");
  } catch (thrown) {
    const why = errorCode(thrown) === "ENOENT" ? "is not there" : "cannot be read";
    throw new UsageError(
      `${path} ${why}, so generation ${generation} of group ${group} cannot be restored from it; copy it from where the rollout began, or name the files of that generation with -f`,
      thrown,
    );
  }
}

/** Of the group, in the order of their generations. */
export function keptVersions(directory: string, group: string): readonly HistoryVersion[] {
  const names = namesIn(join(directory, group));
  return names
    .flatMap((name) => {
      const match = /^(?:(.*)-)?(\d{1,16})\.json$/.exec(name);
      if (match === null) return [];
      const epoch = decodeURIComponent(match[1] ?? "");
      return [{ group, epoch, generation: Number(match[2]) }];
    })
    .toSorted((a, b) => a.generation - b.generation);
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (thrown) {
    if (errorCode(thrown) === "ENOENT") return [];
    throw thrown;
  }
}

function pathOf(directory: string, { group, epoch, generation }: HistoryVersion): string {
  const prefix = epoch === "" ? "" : `${encodeURIComponent(epoch)}-`;
  return join(directory, group, `${prefix}${generation}.json`);
}
