// Reads fields of a written object one by one, noting every problem with its path; reading never stops at the first.

import type { FieldPath } from "./field-path.ts";
import { judge, type FieldRules, type Refusal } from "./field-rules.ts";
import { hinted, messageText, UNKNOWN_FIELD, type Findings, type Message } from "./field-errors.ts";
import { didYouMean } from "../../lib/suggest.ts";
import { shortText } from "../../lib/short-text.ts";
import { type JsonObject, isJsonObject } from "../../lib/json.ts";

/** Characters of a value in a message. */
const MAX_SHOWN = 80;
const UNKNOWN: Refusal = { code: "UnknownField", message: UNKNOWN_FIELD };

/** A value somewhere inside the object being decoded. */
export interface Place {
  readonly findings: Findings;
  readonly path: FieldPath;
  readonly value: unknown;
}

/** The same, where the value is an object. */
export interface Node extends Place {
  readonly value: JsonObject;
}

/** The place of one field; its value is undefined where it is not written. */
export function placeOf(node: Node, key: string): Place {
  return { findings: node.findings, path: [...node.path, key], value: ownValue(node, key) };
}

/** Reports `Invalid value: …: message`; for readers that then have no value. */
export function invalidAt({ findings, path, value }: Place, message: Message): undefined {
  // Formatted only if it is reported.
  findings.fail(path, "Invalid", (isInFull) =>
    invalidValue(findings.textReadAt(path) ?? value, messageText(message, isInFull)),
  );
}

export function invalid(node: Node, key: string, message: Message): void {
  invalidAt(placeOf(node, key), message);
}

/** A field that may not stand here at all, whatever it says. */
export function forbidden(node: Node, key: string, message: string): void {
  node.findings.fail([...node.path, key], "Invalid", `Forbidden: ${message}`);
}

/** `Invalid value: "x": must …`, as the API server says it. */
export function invalidValue(value: unknown, message: string): string {
  return `Invalid value: ${shown(value)}: ${message}`;
}

/** The same, put together if it is told. */
export function invalidMessage(value: unknown, message: Message): Message {
  return (isInFull) => invalidValue(value, messageText(message, isInFull));
}

/** With what was probably meant. */
export function unknownField(key: string, known: readonly string[]): Message {
  return hinted(UNKNOWN_FIELD, () => didYouMean(key, known));
}

export function required(node: Node, key: string, message = ""): void {
  const text = message === "" ? "Required value" : `Required value: ${message}`;
  node.findings.fail([...node.path, key], "Required", text);
}

/** Absent, null or "": to Kubernetes all the same. */
export function isUnwritten(node: Node, key: string): boolean {
  return (node.value[key] ?? "") === "";
}

/** Judges every key that is written against the table of this level. */
export function checkFields(node: Node, level: FieldRules): void {
  judgeFields(node, level, undefined);
}

/** The same, where an unknown field is refused even if others are only warned of. */
export function checkFieldsOnly(node: Node, level: FieldRules, unknown: Refusal): void {
  judgeFields(node, level, unknown);
}

/**
 * The same for an object of which exactly one field of `union` is to be written. Where none is, an unknown field is a
 * misspelt one of them, and refused even where unknown fields are only warned of.
 */
export function checkUnionOf(node: Node, level: FieldRules, union: readonly string[]): void {
  const isWritten = union.some((key) => (ownValue(node, key) ?? null) !== null);
  judgeFields(node, level, isWritten ? undefined : UNKNOWN);
}

/**
 * The same for an object of whose fields exactly one is to be written, those in `beside` not counted: which ones are. Where
 * none is, an unknown field is the one that was meant, misspelt, and refused even where others are only warned of.
 */
export function checkUnion(
  node: Node,
  level: FieldRules,
  beside: readonly string[] = [],
): readonly string[] {
  const written = Object.keys(level).filter(
    (key) => !beside.includes(key) && (ownValue(node, key) ?? null) !== null,
  );
  judgeFields(node, level, written.length === 0 ? UNKNOWN : undefined);
  return written;
}

/** Whether nothing of a union is written, not even a field that nobody knows. */
export function isEmptyUnion(node: Node, level: FieldRules, written: readonly string[]): boolean {
  return written.length === 0 && Object.keys(node.value).every((key) => Object.hasOwn(level, key));
}

function ownValue({ value }: Node, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** `unknown`: why unknown fields are refused; undefined = as the findings are set up. */
function judgeFields(node: Node, level: FieldRules, unknown: Refusal | undefined): void {
  for (const [key, value] of Object.entries(node.value)) {
    const path = [...node.path, key];
    const field = Object.hasOwn(level, key) ? level[key] : undefined;
    if (field === undefined) {
      const hint = () => didYouMean(key, Object.keys(level));
      if (unknown === undefined) node.findings.unknown(path, hinted(UNKNOWN_FIELD, hint));
      else node.findings.fail(path, unknown.code, hinted(unknown.message, hint));
      continue;
    }
    // To Kubernetes, null is the same as not written.
    if (value === null) continue;
    const verdict = judge(field.rule, value);
    if (verdict.type === "Ignored") node.findings.warn(path, "Ignored", verdict.message);
    if (verdict.type === "Refused") node.findings.fail(path, verdict.code, verdict.message);
  }
}

export function stringField(node: Node, key: string): string | undefined {
  const value = node.value[key];
  return value === undefined || value === null
    ? undefined
    : asString({ findings: node.findings, path: [...node.path, key], value });
}

export function booleanField(node: Node, key: string): boolean | undefined {
  const value = node.value[key];
  if (value === undefined || value === null || typeof value === "boolean")
    return value ?? undefined;
  invalid(node, key, "must be true or false");
  return undefined;
}

export function integerField(node: Node, key: string): number | undefined {
  const value = node.value[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  invalid(node, key, "must be an integer");
  return undefined;
}

/** One of a few words; undefined if absent, empty or something else. */
export function choiceField<T extends string>(
  node: Node,
  key: string,
  choices: readonly T[],
): T | undefined {
  const text = stringField(node, key);
  if (text === undefined || text === "") return undefined;
  const choice = choices.find((word) => word === text);
  if (choice === undefined) unsupported(placeOf(node, key), { text, choices });
  return choice;
}

/** The same, where leaving it out is as wrong as another word. */
export function requiredChoice<T extends string>(
  node: Node,
  key: string,
  choices: readonly T[],
): T | undefined {
  if ((node.value[key] ?? "") !== "") return choiceField(node, key, choices);
  unsupported(placeOf(node, key), { text: "", choices });
  return undefined;
}

export function unsupported(
  { findings, path }: Place,
  { text, choices }: { readonly text: string; readonly choices: readonly string[] },
): void {
  const listed = choices.map((word) => JSON.stringify(word)).join(", ");
  const message = `Unsupported value: ${shown(text)}: supported values: ${listed}`;
  findings.fail(path, "Invalid", message);
}

export function objectField(node: Node, key: string): Node | undefined {
  const value = node.value[key];
  if (value === undefined || value === null) return undefined;
  if (isJsonObject(value)) return { findings: node.findings, path: [...node.path, key], value };
  invalid(node, key, "must be an object");
  return undefined;
}

/** Items that are objects; the others are noted. null counts as an object in which nothing is written, as in Kubernetes. */
export function objectList(node: Node, key: string): readonly Node[] {
  return listField(node, key).flatMap((item, index) => {
    const path = [...node.path, key, index];
    const value = item ?? {};
    if (isJsonObject(value)) return [{ findings: node.findings, path, value }];
    node.findings.fail(path, "Invalid", invalidValue(value, "must be an object"));
    return [];
  });
}

/** null counts as empty text, as in Kubernetes. */
export function stringList(node: Node, key: string): readonly string[] {
  return listField(node, key).map((value, index) =>
    value === null
      ? ""
      : (asString({ findings: node.findings, path: [...node.path, key, index], value }) ?? ""),
  );
}

/** A list of texts, each judged by `errorOf`. */
export function judgedList(
  node: Node,
  key: string,
  errorOf: (text: string) => string | undefined,
): readonly string[] {
  const written: unknown = node.value[key];
  const texts = stringList(node, key);
  for (const [index, text] of texts.entries()) {
    const error = errorOf(text);
    const item: unknown = Array.isArray(written) ? written[index] : undefined;
    // What is no text has been said.
    if (error === undefined || (typeof item !== "string" && item !== null)) continue;
    node.findings.fail([...node.path, key, index], "Invalid", invalidValue(text, error));
  }
  return texts;
}

/** Labels, annotations and their like; null counts as empty text, as in Kubernetes, and what is no text is noted and left out. */
export function stringMap(node: Node, key: string): Readonly<Record<string, string>> {
  const map = objectField(node, key);
  if (map === undefined) return {};
  const entries = Object.entries(map.value).flatMap(
    ([name, value]): readonly [string, string][] => {
      const text = value === null ? "" : asString({ ...map, path: [...map.path, name], value });
      return text === undefined ? [] : [[name, text]];
    },
  );
  return Object.fromEntries(entries);
}

/** Absent, null or []; what is no list at all is another matter. */
export function isEmptyList(node: Node, key: string): boolean {
  const value = node.value[key] ?? [];
  return Array.isArray(value) && value.length === 0;
}

/** Items of any type; [] if absent or not a list, which is noted. */
export function listField(node: Node, key: string): readonly unknown[] {
  const value = node.value[key];
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  invalid(node, key, "must be a list");
  return [];
}

/** Text; an unquoted yes or on, which YAML 1.1 reads as a boolean, with a warning. */
export function asString({ findings, path, value }: Place): string | undefined {
  if (typeof value === "string") return value;
  const word = typeof value === "boolean" ? findings.wordAt(path) : undefined;
  if (word === undefined) {
    findings.fail(path, "Invalid", invalidValue(value, `must be a string${quoteHint(value)}`));
    return undefined;
  }
  findings.warn(path, "Ignored", `unquoted ${word} is read as text here; write "${word}"`);
  findings.rewrites.push({ path, text: word });
  return word;
}

function quoteHint(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? "; put it in quotes" : "";
}

/** Short enough for a log line. */
function shown(value: unknown): string {
  // What JSON has no number for would be shown as null.
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  const text = JSON.stringify(typeof value === "string" ? shortText(value, MAX_SHOWN) : value);
  return shortText(text ?? "null", MAX_SHOWN);
}
