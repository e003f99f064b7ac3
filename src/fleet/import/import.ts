// Performs: `agent fleet import compose` and `quadlet`: writes the manifests of what runs elsewhere, and says what of it has no
// counterpart.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { readDocuments } from "../../api/yaml/yaml-documents.ts";
import { CliError, UsageError, invalidInput } from "../../cli/exit-codes.ts";
import { printDocument } from "../../cli/json-yaml-output.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { readNamedInput } from "../../cli/read-file.ts";
import { errorLine, printable } from "../../cli/terminal-text.ts";
import { judgeText } from "../../cli/validate/judge-manifests.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { importCompose } from "./compose-file.ts";
import type { ComposeFiles } from "./compose-mounts.ts";
import { objectsOf, type WrittenObjects } from "./pods.ts";
import { importQuadlet } from "./quadlet.ts";
import { envLines, type Variables } from "./words.ts";

export interface ImportFlags {
  readonly output?: "json" | "yaml";
}

/** Content that is taken into a ConfigMap or Secret. */
const MAX_FILE_BYTES = 64 * 1024;

/** The exit code: 1 when something cannot be imported. Throws UsageError for what is no compose file. */
export async function importComposeFile(
  terminal: Terminal,
  path: string,
  flags: ImportFlags,
): Promise<0 | 1> {
  const { file, bytes } = await readNamedInput(path, terminal);
  const { documents, errors } = readDocuments(bytes);
  if (errors.length > 0) throw invalidInput(file, errors);
  const [document, second] = documents;
  if (document === undefined || second !== undefined)
    throw new UsageError(`${file} must hold exactly one compose file`);
  const directory = path === "-" ? process.cwd() : dirname(resolve(path));
  const variables = { ...dotEnv(directory), ...terminal.environment };
  const imported = importCompose({
    value: document.value,
    variables,
    files: filesIn(directory, variables),
  });
  return write(terminal, objectsOf(imported), flags);
}

/** The exit code: 1 when something cannot be imported. Throws UsageError for what is no directory. */
export async function importQuadletDirectory(
  terminal: Terminal,
  path: string,
  flags: ImportFlags,
): Promise<0 | 1> {
  if (!existsSync(path) || !statSync(path).isDirectory())
    throw new UsageError(`${path} is no directory; name the one with the units`);
  const names = readdirSync(path).filter((name) =>
    /\.(?:container|pod|volume|network|kube|build|image)$/.test(name),
  );
  if (names.length === 0)
    throw new UsageError(`${path} has no units of Quadlet, such as web.container`);
  const units = Object.fromEntries(names.map((name) => [name, textOf(join(path, name)) ?? ""]));
  const imported = importQuadlet({
    units,
    read: (file) => textOf(resolve(path, file)),
  });
  return write(terminal, objectsOf(imported), flags);
}

async function write(
  terminal: Terminal,
  { objects, remarks }: WrittenObjects,
  { output = "yaml" }: ImportFlags,
): Promise<0 | 1> {
  const said = [
    ...new Set(
      remarks.map(
        ({ place, message, isError }) =>
          `${isError === true ? "error" : "warning"}: ${place}: ${message}`,
      ),
    ),
  ];
  for (const line of said) terminal.err(`${printable(line)}\n`);
  for (const object of objects) await printDocument(terminal, object, output);
  // What a node would refuse is found here, not there.
  const text = objects.map((object) => JSON.stringify(object)).join("\n---\n");
  const judged = judgeText({ file: "the result", text }, sha256);
  for (const error of judged.errors)
    terminal.err(`${printable(`error: ${errorLine({ ...error, file: "the result" }, "")}`)}\n`);
  if (objects.length === 0) throw new CliError("nothing was imported");
  return judged.errors.length > 0 || remarks.some(({ isError }) => isError === true) ? 1 : 0;
}

function dotEnv(directory: string): Variables {
  const text = textOf(join(directory, ".env"));
  return text === undefined ? {} : envLines(text);
}

function filesIn(directory: string, variables: Variables): ComposeFiles {
  return {
    read: (path) => textOf(resolve(directory, path)),
    resolve: (path) => resolve(directory, path),
    variable: (name) => variables[name],
  };
}

/** undefined = no small file of text. */
function textOf(path: string): string | undefined {
  try {
    if (!statSync(path).isFile() || statSync(path).size > MAX_FILE_BYTES) return undefined;
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch {
    // It is not there, or is no text: the caller says what follows.
    return undefined;
  }
}
