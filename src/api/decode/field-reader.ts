// Places inside a written object, what is reported there, and the judging of its keys; reading never stops at the first error.

import type { FieldPath } from "./field-path.ts";
import { judge, type FieldRules, type Refusal } from "./field-rules.ts";
import { hinted, messageText, UNKNOWN_FIELD, type Findings, type Message } from "./field-errors.ts";
import { didYouMean } from "../../lib/suggest.ts";
import { shortText } from "../../lib/short-text.ts";
import type { JsonObject } from "../../lib/json.ts";

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

/** The same, formatted only if it is reported. */
export function invalidMessage(value: unknown, message: Message): Message {
  return (isInFull) => invalidValue(value, messageText(message, isInFull));
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

export function unsupported(
  { findings, path }: Place,
  { text, choices }: { readonly text: string; readonly choices: readonly string[] },
): void {
  const listed = choices.map((word) => JSON.stringify(word)).join(", ");
  const message = `Unsupported value: ${shown(text)}: supported values: ${listed}`;
  findings.fail(path, "Invalid", message);
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
