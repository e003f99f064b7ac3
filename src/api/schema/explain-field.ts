// Classifies a field as docs/reference/pod-fields.md does: supported, refused, ignored or harmless, with the sentence for it.

import type { Exception, FieldRule, Verdict } from "../decode/field-rules.ts";

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
