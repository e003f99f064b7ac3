// Performs: reads the files a person named with -f, `-` for standard input.

import { readDocuments } from "../api/yaml/yaml-documents.ts";
import { UsageError, invalidInput } from "../cli/exit-codes.ts";
import type { Terminal } from "../cli/process-io.ts";
import { readNamedInput, type ReadInput } from "../cli/read-file.ts";
import { gatherInput, type WrittenFile, type WrittenInput } from "./document/compose-document.ts";

/** Throws UsageError with file and line. */
export async function readInput(
  paths: readonly string[],
  terminal: Terminal,
): Promise<WrittenInput> {
  const files: WrittenFile[] = [];
  for (const path of paths) files.push(await readWritten(path, terminal));
  const input = gatherInput(files);
  if (!input.ok) throw new UsageError(input.errors.map(({ message }) => message).join("\n"));
  return input.value;
}

/** The only document of a file, and what errors call the file. `kind`: what it must be. */
export async function readOnly(
  path: string,
  kind: string,
  terminal: Terminal,
): Promise<{ readonly file: string; readonly value: unknown }> {
  const { file, documents } = await readWritten(path, terminal);
  const [document, second] = documents;
  if (document === undefined || second !== undefined)
    throw new UsageError(`${file} must hold exactly one ${kind}`);
  return { file, value: document.value };
}

async function readWritten(path: string, terminal: Terminal): Promise<WrittenFile> {
  return documentsOf(await readNamedInput(path, terminal));
}

/** Everything in one file; an empty one holds nothing. */
export function documentsOf({ file, bytes }: ReadInput): WrittenFile {
  const { documents, errors } = readDocuments(bytes);
  if (errors.some(({ code }) => code !== "Empty")) throw invalidInput(file, errors);
  return { file, documents };
}
