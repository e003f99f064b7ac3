// The length of text in bytes, text cut to a bounded length, and large numbers, for log lines and messages.

const ELLIPSIS = "…";

/** At most `atMost` UTF-16 units, an ellipsis included; no character is cut in two. */
export function shortText(text: string, atMost: number): string {
  if (text.length <= atMost) return text;
  const end = atMost - ELLIPSIS.length;
  const isPair = isHighSurrogate(text.charCodeAt(end - 1));
  return `${text.slice(0, isPair ? end - 1 : end)}${ELLIPSIS}`;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** In quotation marks, for messages. */
export function quoted(text: string, atMost = 64): string {
  return JSON.stringify(shortText(text, atMost));
}

/** `1,048,576`; for messages. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** Bytes of UTF-8. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** What stands in the place of a secret value. */
export const HIDDEN = "<hidden>";
