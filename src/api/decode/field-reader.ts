// Places inside a written object, and the check of its keys; reading never stops at the first error.

import type { FieldPath } from "./field-path.ts";
import { judge, type FieldRules, type Refusal } from "./field-rules.ts";
import { hinted, UNKNOWN_FIELD, type Findings, type Message } from "./field-errors.ts";
import { didYouMean } from "../../lib/suggest.ts";
import type { JsonObject } from "../../lib/json.ts";

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
  findings.invalid(path, findings.textReadAt(path) ?? value, message);
}

export function invalid(node: Node, key: string, message: Message): void {
  invalidAt(placeOf(node, key), message);
}

/** A field that may not be written here at all, whatever its value. */
export function forbidden({ findings, path }: Node, key: string, message: string): void {
  findings.forbidden([...path, key], message);
}

export function required({ findings, path }: Node, key: string, message = ""): void {
  findings.required([...path, key], message);
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

/** Text; an unquoted yes or on, which YAML 1.1 reads as a boolean, with a warning. */
export function asString({ findings, path, value }: Place): string | undefined {
  if (typeof value === "string") return value;
  const word = typeof value === "boolean" ? findings.wordAt(path) : undefined;
  if (word === undefined) {
    findings.invalid(path, value, `must be a string${quoteHint(value)}`);
    return undefined;
  }
  findings.warn(path, "Ignored", `unquoted ${word} is read as text here; write "${word}"`);
  findings.rewrites.push({ path, text: word });
  return word;
}

function quoteHint(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? "; put it in quotes" : "";
}
