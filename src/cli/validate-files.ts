// Performs: `agent validate`: reads files, a directory or standard input, and prints what a node would refuse.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Rejection } from "../api/pod/desired-pod.ts";
import { MANIFEST_NAME } from "../source/file/manifest-files.ts";
import { judgeText, judged, judgeTogether, type Judgement } from "./validate.ts";
import { errorLine } from "./terminal-text.ts";
import type { VerbCall } from "./define-verb.ts";
import { UsageError } from "./exit-codes.ts";
import { readFile, readNamedInput } from "./read-file.ts";
import { sha256 } from "../lib/system-sha256.ts";

interface ValidateFlags {
  /** Files, directories, or `-` for standard input. */
  readonly filename?: readonly string[];
  readonly strict?: boolean;
}

/**
 * The exit code: 2 when a node would refuse something, 1 when it would only warn and --strict is given. Throws UsageError when a
 * path is not readable.
 */
export async function validate({ args, flags, terminal }: VerbCall): Promise<0 | 1 | 2> {
  const { filename = [], strict: isStrict = false } = flags<ValidateFlags>();
  const paths = [...filename, ...args];
  if (paths.length === 0)
    throw new UsageError("name a file, a directory, or - for standard input: agent validate FILE");
  const alone: Judgement[] = [];
  for (const path of paths) {
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
  if (errors.length > 0) return 2;
  return isStrict && warnings.length > 0 ? 1 : 0;
}

function summary({ documents, ignored, invalid }: Judgement): string {
  const valid = documents - ignored - invalid.size;
  const text = `${valid} ${valid === 1 ? "document" : "documents"} valid`;
  const others = [
    ...(ignored === 0 ? [] : [`${ignored} ignored`]),
    ...(invalid.size === 0 ? [] : [`${invalid.size} invalid`]),
  ];
  return [text, ...others].join(", ");
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
