// Text from pods and brokers must not command the terminal it is shown on.

// Unicode's control and format characters (escape sequences, what turns the writing direction, what has no
// width) and its line and paragraph separators.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const UNPRINTABLE_IN_TEXT = /(?![\t\n])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** One line: every control character, line feeds too, becomes its escape `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escape);
}

/** A whole text that keeps its lines and tabs. In JSON the escapes mean the same characters as before. */
export function printableText(text: string): string {
  return text.replace(UNPRINTABLE_IN_TEXT, escape);
}

function escape(character: string): string {
  // A character beyond U+FFFF is two units, as in JSON.
  return Array.from({ length: character.length }, (_, unit) => character.charCodeAt(unit))
    .map((code) => `\\u${code.toString(16).padStart(4, "0")}`)
    .join("");
}
