// Performs: `agent validate -f`: reads files, a directory or standard input, and prints what a node would refuse.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Rejection } from "../api/pod/desired-pod.ts";
import { MANIFEST_NAME } from "../source/file/manifest-files.ts";
import { judgeText, judged, judgeTogether, type Judgement } from "./validate.ts";
import { errorLine } from "./terminal-text.ts";
import type { VerbCall } from "./define-verb.ts";
import { readFile, readNamedInput } from "./read-file.ts";
import { sha256 } from "../lib/system-sha256.ts";

interface ValidateFlags {
  /** Files, directories, or `-` for standard input. */
  readonly filename: readonly string[];
}

/** The exit code: 2 when a node would refuse something. Throws UsageError when a path is not readable. */
export async function validate({ flags, terminal }: VerbCall): Promise<0 | 2> {
  const alone: Judgement[] = [];
  for (const path of flags<ValidateFlags>().filename) {
    if (path !== "-" && isDirectory(path)) {
      alone.push(...manifestsIn(path).map(judgeDirectoryEntry));
      continue;
    }
    const { file, bytes } = await readNamedInput(path, terminal);
    alone.push(judgeText({ file, text: bytes }, sha256));
  }
  const whole = judgeTogether(alone);
  const { errors, warnings, notes } = whole;
  for (const error of errors) terminal.err(findingLine(error));
  for (const warning of warnings) terminal.err(findingLine(warning, "warning: "));
  for (const note of notes) terminal.err(findingLine(note, "note: "));
  terminal.out(`${summary(whole)}\n`);
  return errors.length > 0 ? 2 : 0;
}

function summary({ documents, invalid }: Judgement): string {
  const valid = documents - invalid.size;
  const text = `${valid} ${valid === 1 ? "document" : "documents"} valid`;
  return invalid.size === 0 ? text : `${text}, ${invalid.size} invalid`;
}

function findingLine({ ref, ...finding }: Rejection, label = ""): string {
  return `${errorLine({ file: ref, ...finding }, label)}\n`;
}

/** One unreadable file of a directory does not hide what is wrong with the others. */
function judgeDirectoryEntry(path: string): Judgement {
  const read = readFile(path);
  if (read.ok) return judgeText({ file: path, text: read.bytes }, sha256);
  const message = `cannot read it: ${read.why}`;
  return judged(path, "broken", [{ code: "Invalid", path: "", message }]);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function manifestsIn(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && MANIFEST_NAME.test(entry.name))
    .map((entry) => join(directory, entry.name))
    .toSorted();
}
