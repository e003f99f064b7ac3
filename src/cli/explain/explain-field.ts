// `agent explain`: what the fields of a manifest mean on this node, in the form of `kubectl explain`; needs no agent.

import { allFields, findField, pathsEndingIn } from "../../api/schema/find-field.ts";
import type { Field, Level } from "../../api/schema/type.ts";
import {
  ALL_SCHEMA_KINDS,
  findSchemaKind,
  type AnySchemaKind,
} from "../../api/schema/schema-kinds.ts";
import { meantText, suggest } from "../../lib/suggest.ts";
import { UsageError } from "../exit-codes.ts";
import { columnWidths, formatRows } from "../terminal-text.ts";
import type { VerbCall } from "../define-verb.ts";
import { compareText } from "../../lib/compare.ts";
import { classText, fieldClass } from "../../api/decode/field-rules.ts";

/** Characters of a line, as kubectl breaks them. */
const WIDTH = 80;
const TITLES = /^(?:KIND|VERSION|FIELD|HERE|DESCRIPTION|FIELDS):/gm;

/** The exit code. Throws UsageError for an unknown kind or field. */
export function explain({ args: [asked], flags, terminal }: VerbCall): 0 {
  const { recursive = false } = flags<{ readonly recursive?: boolean }>();
  const text = explanation(asked, recursive);
  terminal.out(text.replaceAll(TITLES, (title) => terminal.palette(title, "heading")));
  return 0;
}

/** `asked`: a kind, a path of a field, or `fields`. */
function explanation(asked: string | undefined, recursive: boolean): string {
  if (asked === undefined) return explainUsage();
  if (asked === "fields") return everyField();
  return explainField(asked, recursive);
}

/** `asked` is a path such as `pod.spec.containers.livenessProbe`; indexes in it are ignored. Throws UsageError. */
export function explainField(asked: string, recursive: boolean): string {
  const [word = "", ...names] = asked.replaceAll(/\[\d*\]/g, "").split(".");
  const kind = findSchemaKind(word);
  if (kind === undefined) throw new UsageError(unknownKind(word, asked));
  const [first, ...rest] = names;
  if (first === undefined) return kindText(kind, recursive);
  const prefix = kind.words[0];
  const found = findField(kind.level, [first, ...rest]);
  switch (found.type) {
    case "Found":
      return fieldText({ kind, ...found, recursive });
    case "Below":
      throw new UsageError(belowText(`${prefix}.${found.path}`, found.field));
    case "Unknown":
      throw new UsageError(unknownField(kind, found.path, found.meant));
  }
}

/** Every field of every kind with its type and its class, one per line. */
export function everyField(): string {
  const rows = ALL_SCHEMA_KINDS.flatMap(({ words, level }) =>
    allFields(level, `${words[0]}.`).map(({ path, field }) => [
      path,
      field.type,
      classText(field.rule),
    ]),
  );
  return formatRows(rows, columnWidths(rows));
}

/** The kinds, and examples of fields. */
export function explainUsage(): string {
  const rows = ALL_SCHEMA_KINDS.map(({ words, about }) => [`  agent explain ${words[0]}`, about]);
  rows.push([
    "  agent explain pod.spec.containers.livenessProbe",
    "One field, and what is below it.",
  ]);
  rows.push(["  agent explain fields", "Every field, and how this node treats it."]);
  return `Name a kind or a field:\n${formatRows(rows, columnWidths(rows))}`;
}

function kindText(kind: AnySchemaKind, recursive: boolean): string {
  return [...heading(kind), ...description(kind.about), ...below(kind.level, recursive)].join("\n");
}

function fieldText(asked: {
  readonly kind: AnySchemaKind;
  readonly name: string;
  readonly field: Field;
  readonly recursive: boolean;
}): string {
  const { kind, name, field, recursive } = asked;
  return [
    ...heading(kind),
    `FIELD: ${name} <${field.type}>`,
    `HERE:  ${wrapped(classText(field.rule), "       ").join("\n").trimStart()}`,
    "",
    ...description(field.about),
    ...below(field.level ?? {}, recursive),
  ].join("\n");
}

function heading({ kind }: AnySchemaKind): readonly string[] {
  return [`KIND:       ${kind}`, "VERSION:    v1", ""];
}

function description(about: string): readonly string[] {
  return ["DESCRIPTION:", ...wrapped(about, "    "), ""];
}

function below(level: Level, recursive: boolean): readonly string[] {
  if (Object.keys(level).length === 0) return [];
  return ["FIELDS:", ...(recursive ? [...tree(level, "  "), ""] : list(level))];
}

function list(level: Level): readonly string[] {
  return sorted(level).flatMap(([name, field]) => [
    `  ${name}\t<${field.type}>${requiredMark(field)}`,
    ...wrapped(field.about, "    "),
    ...wrapped(classText(field.rule), "    "),
    "",
  ]);
}

function tree(level: Level, indent: string): readonly string[] {
  return sorted(level).flatMap(([name, field]) => [
    `${indent}${name}\t<${field.type}>${requiredMark(field)}\t${fieldClass(field.rule)}`,
    ...tree(field.level ?? {}, `${indent}  `),
  ]);
}

function sorted(level: Level): readonly [string, Field][] {
  return Object.entries(level).toSorted(([a], [b]) => compareText(a, b));
}

function requiredMark(field: Field): string {
  return field.required === true ? " -required-" : "";
}

function wrapped(text: string, indent: string): readonly string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line !== indent && line.length + word.length + 1 > WIDTH) {
      lines.push(line);
      line = indent;
    }
    line += line === indent ? word : ` ${word}`;
  }
  return [...lines, line];
}

function belowText(path: string, field: Field): string {
  const text = classText(field.rule);
  return fieldClass(field.rule) === "supported"
    ? `${path} is a <${field.type}> and has no fields`
    : `the fields of ${path} are not read, because it is ${text}`;
}

function unknownField(kind: AnySchemaKind, path: string, meant: string | undefined): string {
  const prefix = kind.words[0];
  const elsewhere = pathsEndingIn(kind.level, path.split(".").at(-1) ?? "")[0];
  const hint = meant ?? elsewhere;
  return `unknown field ${prefix}.${path}${meantText(hint === undefined ? undefined : `${prefix}.${hint}`)}`;
}

function unknownKind(word: string, asked: string): string {
  const kinds = ALL_SCHEMA_KINDS.map(({ words }) => words[0]);
  const kind = suggest(word, kinds);
  const field = ALL_SCHEMA_KINDS.flatMap(({ words, level }) =>
    pathsEndingIn(level, asked.split(".").at(-1) ?? "").map((path) => `${words[0]}.${path}`),
  ).find((path) => isEndOf(asked, path));
  const known = `${kinds.slice(0, -1).join(", ")} or ${kinds.at(-1) ?? ""}`;
  return `unknown kind ${JSON.stringify(word)}; ask for ${known}${meantText(field ?? kind)}`;
}

/** Not a deeply nested field: `service` hardly means the one of a gRPC probe. */
function isEndOf(asked: string, path: string): boolean {
  return path.toLowerCase().endsWith(`.${asked.toLowerCase()}`) && path.split(".").length <= 4;
}
