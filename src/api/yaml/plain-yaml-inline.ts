// Values that plain YAML writes in one line: words, quotes with JSON's escapes, `[a, b]` and `{ a: 1 }`.

import type { PlainTree, PlainValue } from "./plain-tree.ts";
import { resolveScalar } from "./yaml-scalars.ts";

/** What a line belongs to, and where in the file it begins. */
interface Place {
  readonly tree: PlainTree;
  readonly offset: number;
}

/** `text` has no blanks around it, and may end with a comment; undefined = it is not plain, or one value too many. */
export function inlineValue(text: string, place: Place): PlainValue | undefined {
  if (BEGINS_WORDS.test(text)) {
    const comment = text.indexOf(" #");
    const words = comment < 0 ? text : text.slice(0, comment).trimEnd();
    return NO_WORDS.test(words) ? undefined : wordsOf(words);
  }
  // A word that stands alone is another matter.
  if (!/^["'[{]/.test(text)) return undefined;
  const quoted = text.endsWith('"') ? quotedText(text) : undefined;
  if (quoted !== undefined) return { value: quoted };
  if (text.length > MAX_BRACKETS) return undefined;
  return new FlowReader(text, place).line();
}

/** JSON's text in quotes means the same in YAML; undefined = it is not that. */
function quotedText(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : undefined;
  } catch {
    // YAML knows more escapes, and what is wrong.
    return undefined;
  }
}

function wordsOf(text: string): PlainValue {
  return { value: resolveScalar(text), text };
}

/** What a key may look like, without its colon. */
export const PLAIN_KEY = "[A-Za-z0-9_.][A-Za-z0-9_./-]{0,255}";
const BEGINS_WORDS = /^(?:-?[A-Za-z0-9_./$(+~]|--|[^ -~])/;
/** Looks like a key. */
const NO_WORDS = /: |:$/;
const END_OF_LINE = /(?: +#.*)?$/y;
const BLANK = / */y;
const QUOTED = /"[^"\\]*(?:\\["\\/bfnrtu][^"\\]*)*"|'((?:[^']|'')*)'/y;
/** Inside brackets: without blanks, a colon only before more of the word. */
const WORD = /-{0,2}[A-Za-z0-9_./$(+~](?:[A-Za-z0-9_./$()+~=-]|:(?=[A-Za-z0-9_/]))*/y;
const KEY = new RegExp(`(${PLAIN_KEY}): +`, "y");
const MAX_LEVELS = 10;
/** Characters of a line that is more than text in double quotes: its patterns remember each. */
const MAX_BRACKETS = 12_000;

/** Reads on from `#at`; a method that answers undefined (or false) has met what is not plain. */
class FlowReader {
  readonly #text: string;
  readonly #place: Place;
  #at = 0;

  constructor(text: string, place: Place) {
    this.#text = text;
    this.#place = place;
  }

  line(): PlainValue | undefined {
    const value = this.#value(MAX_LEVELS);
    return this.#take(END_OF_LINE) === undefined ? undefined : value;
  }

  #value(levels: number): PlainValue | undefined {
    const sign = this.#text[this.#at];
    if (sign === "[" || sign === "{") {
      if (levels === 0) return undefined;
      return sign === "[" ? this.#list(levels - 1) : this.#map(levels - 1);
    }
    const quoted = this.#take(QUOTED);
    if (quoted !== undefined) {
      const value = quoted[1]?.replaceAll("''", "'") ?? quotedText(quoted[0]);
      return value === undefined ? undefined : { value };
    }
    const word = this.#take(WORD)?.[0];
    return word === undefined ? undefined : wordsOf(word);
  }

  #list(levels: number): PlainValue | undefined {
    const list = this.#place.tree.newList();
    const isRead = this.#items("]", (offset) => {
      const item = this.#value(levels);
      return item !== undefined && list.add(item, offset);
    });
    return isRead ? { value: list.value } : undefined;
  }

  #map(levels: number): PlainValue | undefined {
    const map = this.#place.tree.newMap();
    const isRead = this.#items("}", (offset) => {
      const key = this.#take(KEY)?.[1];
      if (key === undefined || !map.takes(key)) return false;
      const member = this.#value(levels);
      return member !== undefined && map.put(key, member, offset);
    });
    return isRead ? { value: map.value } : undefined;
  }

  /** From the opening bracket to behind `end`; `item` stands at an item, is told where that is, and says whether it could read it. */
  #items(end: "]" | "}", item: (offset: number) => boolean): boolean {
    this.#at += 1;
    this.#take(BLANK);
    if (this.#sign(end)) return true;
    do {
      this.#take(BLANK);
      if (!item(this.#place.offset + this.#at)) return false;
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
