// Values that plain YAML writes in one line: words, quotes without escapes, `[a, b]` and `{ a: 1 }`.

import { resolveScalar } from "./yaml-scalars.ts";

/** `text` has no blanks around it, and may end with a comment; undefined = it is not plain. */
export function inlineValue(text: string): unknown {
  if (BEGINS_WORDS.test(text)) {
    const comment = text.indexOf(" #");
    const words = comment < 0 ? text : text.slice(0, comment).trimEnd();
    return NO_WORDS.test(words) ? undefined : resolveScalar(words);
  }
  return new FlowReader(text).line();
}

/** What a key may look like, without its colon. */
export const PLAIN_KEY = "[A-Za-z0-9_.][A-Za-z0-9_./-]{0,255}";
const BEGINS_WORDS = /^(?:-?[A-Za-z0-9_./$(+~]|--)/;
/** Looks like a key. */
const NO_WORDS = /: |:$/;
const END_OF_LINE = /(?: +#.*)?$/y;
const BLANK = / */y;
const QUOTED = /"([^"\\]*)"|'((?:[^']|'')*)'/y;
/** Inside brackets: without blanks, a colon only before more of the word. */
const WORD = /-{0,2}[A-Za-z0-9_./$(+~](?:[A-Za-z0-9_./$()+~=-]|:(?=[A-Za-z0-9_/]))*/y;
const KEY = new RegExp(`(${PLAIN_KEY}): +`, "y");
const MAX_LEVELS = 10;

/** Reads on from `#at`; a method that answers undefined (or false) has met what is not plain. */
class FlowReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  line(): unknown {
    // A word that stands alone is another matter.
    if (!/^["'[{]/.test(this.#text)) return undefined;
    const value = this.#value(MAX_LEVELS);
    return this.#take(END_OF_LINE) === undefined ? undefined : value;
  }

  #value(levels: number): unknown {
    const sign = this.#text[this.#at];
    if (sign === "[" || sign === "{") {
      if (levels === 0) return undefined;
      return sign === "[" ? this.#list(levels - 1) : this.#map(levels - 1);
    }
    const quoted = this.#take(QUOTED);
    if (quoted !== undefined) return quoted[1] ?? quoted[2]?.replaceAll("''", "'");
    const word = this.#take(WORD)?.[0];
    return word === undefined ? undefined : resolveScalar(word);
  }

  #list(levels: number): unknown {
    const value: unknown[] = [];
    const isRead = this.#items("]", () => {
      const item = this.#value(levels);
      value.push(item);
      return item !== undefined;
    });
    return isRead ? value : undefined;
  }

  #map(levels: number): unknown {
    const value: Record<string, unknown> = {};
    const isRead = this.#items("}", () => {
      const key = this.#take(KEY)?.[1];
      if (key === undefined || key === "__proto__" || Object.hasOwn(value, key)) return false;
      const member = this.#value(levels);
      value[key] = member;
      return member !== undefined;
    });
    return isRead ? value : undefined;
  }

  /** From the opening bracket to behind `end`; `item` stands at an item and says whether it could read it. */
  #items(end: "]" | "}", item: () => boolean): boolean {
    this.#at += 1;
    this.#take(BLANK);
    if (this.#sign(end)) return true;
    do {
      this.#take(BLANK);
      if (!item()) return false;
      this.#take(BLANK);
      if (this.#sign(end)) return true;
    } while (this.#sign(","));
    return false;
  }

  #sign(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at = pattern.lastIndex;
    return match;
  }
}
