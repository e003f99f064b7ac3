// Imports of a compose file or of a directory of Quadlet, with what was printed of them.

import { mkdirSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";

import { parseAllDocuments } from "yaml";

import { importComposeFile, importQuadletDirectory } from "../../../src/fleet/import/import.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";
import { FakeTerminal } from "../cli/fake-terminal.ts";

export const temp = makeTempDirectory();
const FIXTURES = join(import.meta.dir, "../../fixtures/import");

export interface Imported {
  readonly code: number;
  /** `error: place` and `warning: place`. */
  readonly told: readonly string[];
  readonly objects: readonly Written[];
}

interface Written {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly annotations?: object;
    readonly labels?: object;
  };
  readonly spec?: { readonly containers?: readonly Record<string, unknown>[] } & Record<
    string,
    unknown
  >;
  readonly data?: object;
  readonly stringData?: object;
}

export async function imported(
  name: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Imported> {
  const terminal = new FakeTerminal();
  Object.assign(terminal, { environment, isTerminal: false });
  const path = isAbsolute(name) ? name : join(FIXTURES, name);
  const code = await (name.endsWith(".yaml")
    ? importComposeFile(terminal, path, {})
    : importQuadletDirectory(terminal, path, {}));
  const told = terminal.stderr
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split(": ").slice(0, 3).join(": "));
  const objects = parseAllDocuments(terminal.stdout).map((one) => one.toJS() as Written);
  return { code, told, objects };
}

let desks = 0;

/** A compose file of this text, alone in a directory. */
export function composeFile(text: string): string {
  desks += 1;
  const directory = join(temp.path, `desk-${desks}`);
  mkdirSync(directory);
  const path = join(directory, "compose.yaml");
  writeFileSync(path, text);
  return path;
}

export function pod({ objects }: Imported, name: string): NonNullable<Written["spec"]> & Written {
  const found = objects.find((one) => one.kind === "Pod" && one.metadata.name === name);
  if (found?.spec === undefined) throw new Error(`there is no pod ${name}`);
  return { ...found.spec, ...found };
}

export function container(result: Imported, name: string, index = 0): Record<string, unknown> {
  return pod(result, name).containers?.[index] ?? {};
}

export const names = ({ objects }: Imported): readonly string[] =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
