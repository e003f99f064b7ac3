// Performs: `agent validate`: what a node would refuse in manifests, without a node.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Rejection } from "../api/pod/desired-pod.ts";
import { FILE_LIMITS } from "../api/yaml/text-limits.ts";
import { decodeText } from "../api/yaml/yaml-documents.ts";
import { CliError } from "./cli-error.ts";
import { NOTHING_JUDGED, judgeText, judgeTogether, type Judgement } from "./judge-manifests.ts";
import { errorLine } from "./terminal-text.ts";
import type { Terminal } from "./terminal.ts";
import type { VerbCall } from "./verb.ts";
import { readFile, readNamedFile, tooBig } from "./text-file.ts";
import { sha256 } from "../lib/system-sha256.ts";

interface ValidateFlags {
  /** Files, directories, or `-` for standard input. */
  readonly filename: readonly string[];
}

/** The names the agent reads in a directory of manifests. */
const MANIFEST_NAME = /^[^.].*\.(?:yaml|yml|json)$/;

/** The exit code: 2 when a node would refuse something. Throws CliError, exit code 2, when a path is not readable. */
export async function validate({ flags, terminal }: VerbCall): Promise<0 | 2> {
  const alone: Judgement[] = [];
  for (const path of flags<ValidateFlags>().filename) {
    if (path === "-") alone.push(judgeBytes("stdin", await readStandardInput(terminal)));
    else if (isDirectory(path)) alone.push(...manifestsIn(path).map(judgeDirectoryEntry));
    else alone.push(judgeBytes(path, readNamedFile(path)));
  }
  const whole = judgeTogether(alone);
  for (const error of whole.errors) terminal.err(`${findingLine(error, "")}\n`);
  for (const warning of whole.warnings) terminal.err(`${findingLine(warning, "warning: ")}\n`);
  for (const note of whole.notes) terminal.err(`${findingLine(note, "note: ")}\n`);
  terminal.out(`${summary(whole)}\n`);
  return whole.errors.length > 0 ? 2 : 0;
}

function summary({ documents, invalid }: Judgement): string {
  const valid = documents - invalid.size;
  const text = `${valid} ${valid === 1 ? "document" : "documents"} valid`;
  return invalid.size === 0 ? text : `${text}, ${invalid.size} invalid`;
}

function findingLine({ ref, ...finding }: Rejection, label: string): string {
  return errorLine({ file: ref, ...finding }, label);
}

function judgeBytes(file: string, bytes: Uint8Array): Judgement {
  const text = decodeText(bytes);
  if (text.ok) return judgeText({ file, text: text.value }, sha256);
  return refusedFile(file, text.errors.map((error) => error.message).join("; "));
}

/** One unreadable file of a directory does not hide what is wrong with the others. */
function judgeDirectoryEntry(path: string): Judgement {
  const read = readFile(path);
  return read.ok ? judgeBytes(path, read.bytes) : refusedFile(path, `cannot read it: ${read.why}`);
}

function refusedFile(file: string, message: string): Judgement {
  const error: Rejection = { source: "file", ref: file, code: "Invalid", path: "", message };
  return { ...NOTHING_JUDGED, documents: 1, invalid: new Set([file]), errors: [error] };
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

async function readStandardInput(terminal: Terminal): Promise<Uint8Array> {
  const bytes = await terminal.readInput();
  if (bytes.length <= FILE_LIMITS.bytes) return bytes;
  throw new CliError(2, `cannot read standard input: ${tooBig(bytes.length)}`);
}
