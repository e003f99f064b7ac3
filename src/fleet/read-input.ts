// Performs: reads the files a person named with -f, `-` for standard input.

import { FILE_LIMITS } from "../api/yaml/text-limits.ts";
import { decodeText, readDocuments } from "../api/yaml/yaml-documents.ts";
import { CliError } from "../cli/cli-error.ts";
import type { Terminal } from "../cli/terminal.ts";
import { readNamedFile, tooBig } from "../cli/text-file.ts";
import { gatherInput, type WrittenFile, type WrittenInput } from "./document/compose-document.ts";
import { invalid } from "./open-broker.ts";

/** Throws CliError, exit code 2, with file and line. */
export async function readInput(
  paths: readonly string[],
  terminal: Terminal,
): Promise<WrittenInput> {
  const files: WrittenFile[] = [];
  for (const path of paths) files.push(await readWritten(path, terminal));
  const input = gatherInput(files);
  if (!input.ok) throw new CliError(2, input.errors.map(({ message }) => message).join("\n"));
  return input.value;
}

/** One file with everything in it; an empty one holds nothing. */
export async function readWritten(path: string, terminal: Terminal): Promise<WrittenFile> {
  const file = path === "-" ? "stdin" : path;
  const text = decodeText(await readBytes(path, terminal));
  if (!text.ok) throw invalid(file, text.errors);
  const { documents, errors } = readDocuments(text.value);
  if (errors.some(({ code }) => code !== "Empty")) throw invalid(file, errors);
  return { file, documents };
}

async function readBytes(path: string, terminal: Terminal): Promise<Uint8Array> {
  if (path !== "-") return readNamedFile(path);
  const bytes = await terminal.readInput();
  if (bytes.length <= FILE_LIMITS.bytes) return bytes;
  throw new CliError(2, `cannot read standard input: ${tooBig(bytes.length)}`);
}
