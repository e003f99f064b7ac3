// How a field of the Pod API is treated, as data: what holds for it, and for which values something else holds.

import { canonicalJson } from "../../lib/json.ts";

/** What to do with a field that has a certain value. */
export type Verdict =
  | { readonly type: "Supported" }
  /** Harmless: it changes nothing on a single node. */
  | { readonly type: "Silent" }
  /** The pod runs without it, and the field is reported as ignored. */
  | { readonly type: "Ignored"; readonly message: string }
  | Refused;

export interface Refusal {
  readonly code: string;
  /** What is wrong and what to write instead. */
  readonly message: string;
}

// Reasons that several fields share.

export const NO_SCHEDULER: Refusal = {
  code: "Unsupported",
  message: "needs a Kubernetes API server and scheduler; leave it out",
};

export const NO_WINDOWS: Refusal = {
  code: "Unsupported",
  message: "this node runs Linux containers only",
};

/** Something that only an API server hands out. */
export function needsAPIServer(what: string, instead: string): Refusal {
  return {
    code: "NeedsAPIServer",
    message: `${what} needs a Kubernetes API server; use ${instead}`,
  };
}

interface Refused extends Refusal {
  readonly type: "Refused";
}

export interface FieldRule {
  readonly verdict: Verdict;
  /** For these values another verdict holds; the first that lists the value. */
  readonly except: readonly Exception[];
}

/** The rules of the fields of one object, by name. */
export type FieldRules = Readonly<Record<string, { readonly rule: FieldRule }>>;

export interface Exception {
  readonly values: readonly unknown[];
  readonly verdict: Verdict;
}

const SILENT: Verdict = { type: "Silent" };

/** Read by the decoder. */
export const supported: FieldRule = { verdict: { type: "Supported" }, except: [] };

/** Accepted with any value. */
export const harmless: FieldRule = { verdict: SILENT, except: [] };

/** Read by the decoder, but for values that do not work here. */
export function supportedBut(refusal: Refusal, ...values: readonly unknown[]): FieldRule {
  return { ...supported, except: [{ values, verdict: { type: "Refused", ...refusal } }] };
}

/** Runs without it, with a warning, but for the values that ask for nothing. */
export function ignored(message: string, ...harmlessValues: readonly unknown[]): FieldRule {
  return { verdict: { type: "Ignored", message }, except: silently(harmlessValues) };
}

/** Never runs here, but for the values that ask for nothing. */
export function refused(refusal: Refusal, ...harmlessValues: readonly unknown[]): FieldRule {
  return { verdict: { type: "Refused", ...refusal }, except: silently(harmlessValues) };
}

function silently(values: readonly unknown[]): readonly Exception[] {
  return values.length === 0 ? [] : [{ values, verdict: SILENT }];
}

/** What holds for a field that is written with this value. */
export function judge(rule: FieldRule, value: unknown): Verdict {
  if (rule.except.length === 0) return rule.verdict;
  const text = canonicalJson(value);
  const exception = rule.except.find(({ values }) =>
    values.some((other) => canonicalJson(other) === text),
  );
  return exception?.verdict ?? rule.verdict;
}

export type FieldClass = "supported" | "refused" | "ignored" | "harmless";

const CLASSES: Readonly<Record<Verdict["type"], FieldClass>> = {
  Supported: "supported",
  Silent: "harmless",
  Ignored: "ignored",
  Refused: "refused",
};

/** What holds for most values. */
export function fieldClass(rule: FieldRule): FieldClass {
  return CLASSES[rule.verdict.type];
}

/** `refused (UnsupportedVolume): csi needs …`, with the values for which something else holds. */
export function classText(rule: FieldRule): string {
  return [verdictText(rule.verdict), ...rule.except.map(exceptionText)].join("; ");
}

function verdictText(verdict: Verdict): string {
  switch (verdict.type) {
    case "Supported":
      return "supported";
    case "Silent":
      return "harmless";
    case "Ignored":
      return `ignored with a warning: ${verdict.message}`;
    case "Refused":
      return `refused (${verdict.code}): ${verdict.message}`;
  }
}

function exceptionText({ values, verdict }: Exception): string {
  const shown = values.map((value) => JSON.stringify(value)).join(" or ");
  return `with ${shown} ${verdictText(verdict)}`;
}
