// Performs: `agent fleet import compose` and `quadlet`: writes the manifests of what runs elsewhere, and says what of it has no
// counterpart.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { SERVICE_IS_NAME } from "../../api/decode/other-kinds.ts";
import { readModernDocuments } from "../../api/yaml/yaml-documents.ts";
import { CliError, UsageError, invalidInput } from "../../cli/exit-codes.ts";
import { objectText, printDocument } from "../../cli/json-yaml-output.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { readNamedInput } from "../../cli/read-file.ts";
import { errorLine, printable } from "../../cli/terminal-text.ts";
import { judgeText, judgeTogether, type NamedText } from "../../cli/validate/judge-manifests.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import { messageOf } from "../../lib/errors.ts";
import { memberOf, type JsonObject } from "../../lib/json.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { importCompose } from "./compose-file.ts";
import type { ComposeFiles } from "./compose-mounts.ts";
import { objectsOf, type WrittenObjects } from "./pods.ts";
import { importQuadlet } from "./quadlet.ts";
import type { Remark } from "./service.ts";
import { envRemarks } from "./service-fields.ts";
import { composeEnvLines, plain, type Variables } from "./words.ts";

export interface ImportFlags {
  readonly output?: "json" | "yaml";
  /** A file for each object is written there; absent = all go to standard output. */
  readonly outputDir?: string;
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
  const { documents, errors } = readModernDocuments(bytes);
  if (errors.length > 0) throw invalidInput(file, errors);
  const [document, second] = documents;
  if (document === undefined || second !== undefined)
    throw new UsageError(`${file} must hold exactly one compose file`);
  const directory = path === "-" ? process.cwd() : dirname(resolve(path));
  const dotEnv = composeEnvLines(textOf(join(directory, ".env")) ?? "", terminal.environment);
  const variables = { ...dotEnv.values, ...terminal.environment };
  const imported = importCompose({
    value: document.value,
    variables,
    files: filesIn(directory, variables),
  });
  const remarks = [...envRemarks(".env", dotEnv), ...imported.remarks];
  return write(terminal, objectsOf({ ...imported, remarks }), flags);
}

/** The exit code: 1 when something cannot be imported. Throws UsageError for what is no directory. */
export async function importQuadletDirectory(
  terminal: Terminal,
  path: string,
  flags: ImportFlags,
): Promise<0 | 1> {
  if (!existsSync(path) || !statSync(path).isDirectory())
    throw new UsageError(`${path} is no directory; name the one with the units`);
  const names = readdirSync(path).filter((name) => UNIT.test(name));
  if (names.length === 0)
    throw new UsageError(`${path} has no units of Quadlet, such as web.container`);
  const units = Object.fromEntries(names.map((name) => [name, unitText(path, name)]));
  const { remarks, ...imported } = importQuadlet({
    units,
    files: filesIn(resolve(path), terminal.environment),
  });
  const all = [...remarks, ...unreadDirectories(path)];
  return write(terminal, objectsOf({ ...imported, remarks: all }), flags);
}

const UNIT = /\.(?:container|pod|volume|network|kube|build|image)$/;

/** With its drop-ins, the most general first. podman-systemd.unit(5) */
function unitText(directory: string, name: string): string {
  const [, stem = "", kind = ""] = /^(.+)\.(\w+)$/.exec(name) ?? [];
  const prefixes = [...stem.matchAll(/-/g)].map(
    ({ index }) => `${stem.slice(0, index + 1)}.${kind}`,
  );
  const template = stem.includes("@") ? [`${stem.replace(/@.*$/, "@")}.${kind}`] : [];
  const texts = [kind, ...prefixes, ...template, name].flatMap((one) => {
    const place = join(directory, `${one}.d`);
    return entriesOf(place)
      .filter((file) => file.endsWith(".conf"))
      .map((file) => textOf(join(place, file)));
  });
  return [textOf(join(directory, name)), ...texts].join("\n");
}

/** None if it is no directory, or cannot be read. */
function entriesOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory).toSorted();
  } catch {
    // It is not there, or another user's.
    return [];
  }
}

/** Podman reads units below the directory too. */
function unreadDirectories(path: string): readonly Remark[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((one) => one.isDirectory() && !one.name.endsWith(".d"))
    .filter(({ name }) => entriesOf(join(path, name)).some((one) => UNIT.test(one)))
    .map(({ name }) => ({
      place: name,
      message: "is a directory with units, which are not read: put them beside the others",
    }));
}

/** Writes the objects, says what has no counterpart, and judges what was written as the nodes will. */
async function write(
  terminal: Terminal,
  { objects, remarks }: WrittenObjects,
  { output = "yaml", outputDir }: ImportFlags,
): Promise<0 | 1> {
  const lines = remarks.map(
    ({ place, message, isError }) =>
      `${isError === true ? "error" : "warning"}: ${place}: ${message}`,
  );
  for (const line of new Set(lines)) terminal.err(`${printable(line)}\n`);
  if (objects.length === 0) throw new CliError("nothing was imported");
  const texts = await Promise.all(objects.map((object) => objectText(object, output)));
  const files =
    outputDir === undefined
      ? [printedAs(texts, output)]
      : objects.map((object, index) => ({
          file: join(outputDir, `${fileNameOf(object)}.${output}`),
          text: texts[index] ?? "",
        }));
  if (outputDir === undefined)
    for (const object of objects) await printDocument(terminal, object, output);
  else {
    writeFiles(outputDir, files);
    for (const { file } of files) terminal.out(`${printable(file)}\n`);
  }
  const judged = judgeTogether(files.map((one) => judgeText(one, sha256)));
  const { errors, warnings, notes } = judged;
  for (const error of errors) terminal.err(findingLine(error, "error: "));
  for (const found of [...warnings, ...notes])
    if (found.message !== SERVICE_IS_NAME) terminal.err(findingLine(found, "warning: "));
  return errors.length > 0 || remarks.some(({ isError }) => isError === true) ? 1 : 0;
}

/** As standard output has it, so that a finding names its line there; between documents of JSON the reader needs a mark. */
function printedAs(texts: readonly string[], output: "json" | "yaml"): NamedText {
  const text = output === "yaml" ? texts.map((one) => `---\n${one}`).join("") : texts.join("---\n");
  return { file: "the result", text };
}

function findingLine({ ref, ...finding }: Rejection, label: string): string {
  return `${printable(`${label}${errorLine({ file: ref, ...finding }, "")}`)}\n`;
}

/** `pod-web`. */
function fileNameOf(object: JsonObject): string {
  const [kind, name] = [object["kind"], memberOf(object["metadata"], "name")].map(plain);
  return `${kind}-${name}`.toLowerCase();
}

/** Throws UsageError before anything is written when a file is there already: a person may have edited it. */
function writeFiles(directory: string, files: readonly NamedText[]): void {
  const there = files.find(({ file }) => existsSync(file));
  if (there !== undefined)
    throw new UsageError(`${there.file} is there already; name another directory, or remove it`);
  try {
    mkdirSync(directory, { recursive: true });
    // Secrets and variables are plain text.
    for (const { file, text } of files) writeFileSync(file, text, { mode: 0o600, flag: "wx" });
  } catch (thrown) {
    throw new CliError(`cannot write to ${directory}: ${messageOf(thrown)}`);
  }
}

function filesIn(directory: string, variables: Variables): ComposeFiles {
  const place = (path: string): string =>
    resolve(directory, path.replace(/^~(?=\/|$)/, variables["HOME"] ?? "~"));
  return {
    read: (path) => textOf(place(path)),
    isExecutable: (path) => (statSync(place(path)).mode & OWNER_RUNS) !== 0,
    resolve: place,
    variable: (name) => variables[name],
  };
}

const OWNER_RUNS = 0o100;

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
