// Places inside a written object, and the check of its keys; reading never stops at the first error.

import type { FieldPath } from "./field-path.ts";
import { judge, type FieldRule, type FieldRules, type Refusal } from "./field-rules.ts";
import { hinted, UNKNOWN_FIELD, type Findings, type Message } from "./field-errors.ts";
import { meantText, suggest } from "../../lib/suggest.ts";
import type { JsonObject } from "../../lib/json.ts";
import { shortText } from "../../lib/short-text.ts";

/** Characters of a text in a message. */
const MAX_SHOWN = 80;
const UNKNOWN: Refusal = { code: "UnknownField", message: UNKNOWN_FIELD };

/** A value somewhere inside the object being decoded. */
export interface Place {
  readonly findings: Findings;
  readonly path: FieldPath;
  readonly value: unknown;
  /** What messages show in place of a value that is secret; absent = the value. */
  readonly shown?: string;
}

/** The same, where the value is an object. */
export interface Node extends Place {
  readonly value: JsonObject;
}

/** The place of one field; its value is undefined where it is not written. */
export function placeOf({ findings, path, value: object, shown }: Node, key: string): Place {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  const place = { findings, path: [...path, key], value };
  return shown === undefined ? place : { ...place, shown };
}

/** Those of the fields that are written. To Kubernetes, null is the same as not written. */
export function writtenOf(node: Node, keys: readonly string[]): readonly string[] {
  return keys.filter((key) => (placeOf(node, key).value ?? null) !== null);
}

/** Reports `Invalid value: …: message`; for readers that then have no value. */
export function invalidAt({ findings, path, value, shown }: Place, message: Message): undefined {
  findings.invalid(path, shown ?? value, message);
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

export interface UnknownRules {
  /** Fields of which exactly one is to be written: where none is, an unknown field is a misspelt one, and refused. */
  readonly union?: readonly string[];
  /** Why an unknown field is refused even where others are only warned of. */
  readonly unknown?: Refusal;
}

/** Judges every key that is written against the table of this level. */
export function checkFields(node: Node, level: FieldRules, rules: UnknownRules): void {
  const isMisspelt = rules.union !== undefined && writtenOf(node, rules.union).length === 0;
  const unknown = rules.unknown ?? (isMisspelt ? UNKNOWN : undefined);
  for (const key of Object.keys(node.value)) {
    const field = Object.hasOwn(level, key) ? level[key] : undefined;
    if (field === undefined) reportUnknown(node, key, { level, unknown });
    else reportRule(node, key, field.rule);
  }
}

interface UnknownKey {
  readonly level: FieldRules;
  /** Absent = it is only warned of, unless the reader refuses all. */
  readonly unknown: Refusal | undefined;
}

function reportUnknown(node: Node, key: string, { level, unknown }: UnknownKey): void {
  const { findings } = node;
  const path = [...node.path, key];
  const hint = (): string => {
    const meant = suggest(key, Object.keys(level));
    const isError = unknown !== undefined || findings.refusesUnknownFields;
    if (meant !== undefined && isError) findings.meant([...node.path, meant]);
    return meantText(meant);
  };
  if (unknown === undefined) findings.unknown(path, hinted(UNKNOWN_FIELD, hint));
  else findings.fail(path, unknown.code, hinted(unknown.message, hint));
}

function reportRule({ findings, path, value }: Node, key: string, rule: FieldRule): void {
  const written = value[key];
  if (written === null) return;
  const verdict = judge(rule, written);
  if (verdict.type === "Ignored") findings.warn([...path, key], "Ignored", verdict.message);
  if (verdict.type === "Refused") findings.fail([...path, key], verdict.code, verdict.message);
}

/**
 * Text. An unquoted `yes` or `1_000` is none, as in Kubernetes; earlier versions accepted words as text, which a checkpoint
 * remains. `rewrite`: there the written object gets the text.
 */
export function asString(at: Place, { rewrite = true } = {}): string | undefined {
  const { findings, path, value, shown } = at;
  if (typeof value === "string") return value;
  if (typeof value !== "boolean" && typeof value !== "number")
    return invalidAt(at, "must be a string");
  const text = findings.plainTextAt(path);
  if (text !== undefined && findings.isLenient) {
    if (rewrite) findings.rewrites.push({ path, text });
    return text;
  }
  const isAsShown = text === undefined || text === String(value) || shown !== undefined;
  const remedy = isAsShown
    ? "put it in quotes"
    : `write ${JSON.stringify(shortText(text, MAX_SHOWN))}`;
  return invalidAt(at, `must be a string; ${remedy}`);
}
