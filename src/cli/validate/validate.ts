// Performs: `agent validate`: reads files, a directory or standard input, and prints what a node would refuse.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import { judgeText, judged, judgeTogether, type Judgement } from "./judge-manifests.ts";
import { errorLine } from "../terminal-text.ts";
import type { VerbCall } from "../define-verb.ts";
import { printObject } from "../json-yaml-output.ts";
import type { Terminal } from "../process-io.ts";
import { UsageError } from "../exit-codes.ts";
import { isDirectory, manifestsIn, readFile, readNamedInput } from "../read-file.ts";
import { sha256 } from "../../lib/system-sha256.ts";

interface ValidateFlags {
  /** Files, directories, or `-` for standard input. */
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
  readonly strict?: boolean;
  readonly output?: "json" | "yaml";
}

/**
 * The exit code: 2 when a node would refuse something, 1 when it would only warn and --strict is given. Throws UsageError when a
 * path is not readable.
 */
export async function validate({ args, flags, terminal }: VerbCall): Promise<0 | 1 | 2> {
  const {
    filename = [],
    recursive = false,
    strict: isStrict = false,
    output,
  } = flags<ValidateFlags>();
  const paths = [...filename, ...args];
  if (paths.length === 0)
    throw new UsageError("name a file, a directory, or - for standard input: agent validate FILE");
  const alone: Judgement[] = [];
  for (const path of paths) {
    if (path !== "-" && isDirectory(path)) {
      alone.push(...manifestsIn(path, recursive).map(judgeDirectoryEntry));
      continue;
    }
    const { file, bytes } = await readNamedInput(path, terminal);
    alone.push(judgeText({ file, text: bytes }, sha256));
  }
  const whole = judgeTogether(alone);
  const { errors, warnings } = whole;
  if (output === undefined) printJudgement(terminal, whole);
  else await printObject(terminal, validationList(whole), output);
  if (errors.length > 0) return 2;
  return isStrict && warnings.length > 0 ? 1 : 0;
}

/** What a node would refuse of these directories and files, which can be read. */
export function judgePaths(paths: readonly string[]): {
  readonly judgement: Judgement;
  readonly files: number;
} {
  const files = paths.flatMap((path) => (isDirectory(path) ? manifestsIn(path, false) : [path]));
  return { judgement: judgeTogether(files.map(judgeDirectoryEntry)), files: files.length };
}

function printJudgement(terminal: Terminal, whole: Judgement): void {
  const { errors, warnings, notes } = whole;
  for (const error of errors) terminal.err(findingLine(error));
  for (const warning of warnings) terminal.err(findingLine(warning, "warning: "));
  for (const note of notes) terminal.err(findingLine(note, "note: "));
  terminal.out(`${summary(whole)}\n`);
}

/** In the form of `agent check -o json`. */
function validationList(whole: Judgement): object {
  const { documents, ignored, invalid, errors, warnings, notes } = whole;
  const items = (level: "error" | "warning" | "note", found: readonly Rejection[]): object[] =>
    found.map(({ source: _source, ref: file, ...finding }) => ({ level, file, ...finding }));
  return {
    apiVersion: "agent/v1",
    kind: "ValidationList",
    documents: { valid: documents - ignored - invalid.size, ignored, invalid: invalid.size },
    items: [...items("error", errors), ...items("warning", warnings), ...items("note", notes)],
  };
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
