// What a flag means, as a sentence of a reference.

import type { Flag } from "../flags.ts";

/** `mark` shows a word as code. */
export function flagMeaning(
  { description, choices, isRequired, defaultText, ...flag }: Flag,
  mark: (word: string) => string,
): string {
  const byDefault = defaultText ?? valueText(flag.default);
  return [
    `${sentence(description)}.`,
    ...(isRequired === true ? ["Required."] : []),
    ...(choices === undefined ? [] : [`Allowed: ${choices.map(mark).join(", ")}.`]),
    ...(byDefault === "" ? [] : [`Default: ${mark(byDefault)}.`]),
  ].join(" ");
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.join(",");
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** The help of a terminal writes it in small letters and without a stop. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/\.$/, "");
}
