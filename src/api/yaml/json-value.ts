// JSON text as data that remembers where each field stood: what programs write, read at a fraction of YAML's cost.

import type { FieldPath } from "../decode/field-path.ts";
import { markAt, setOwn, type Mark, type Marks } from "./marks.ts";
import { duplicateKey, type DocumentValue, type YamlProblem } from "./yaml-value.ts";

interface Limits {
  /** How deep maps and lists may stand in each other. */
  readonly depth: number;
  /** How many values there may be. */
  readonly values: number;
}

export type JsonText =
  | { readonly document: DocumentValue }
  /** Not one JSON map or list: YAML's reader knows what to say about it. Or one value too many; and where. */
  | { readonly stopped: "NotJson" | "TooMuch"; readonly at: number };

export function jsonValue(text: string, limits: Limits): JsonText {
  const start = BLANK_START.exec(text)?.[0].length ?? 0;
  if (text[start] !== "{" && text[start] !== "[") return { stopped: "NotJson", at: start };
  const reader = new JsonReader(text, limits);
  const root = reader.document(start);
  if (reader.isTooMuch) return { stopped: "TooMuch", at: reader.at };
  if (root === undefined) return { stopped: "NotJson", at: reader.at };
  const tree = { root, start: { offset: start }, marks: reader.marks };
  const markOf = (path: FieldPath): Mark => markAt(tree, path);
  return { document: { value: root, problems: reader.problems, markOf } };
}

const BLANK_START = /^\uFEFF?[ \t\r\n]*/;
const BLANK = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const WORDS: readonly (readonly [string, boolean | null])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

/** Reads on from `at`; a method that answers undefined (or false) has met what is no JSON. */
class JsonReader {
  readonly marks = new WeakMap<object, Marks>();
  readonly problems: YamlProblem[] = [];
  /** What is to be read next. */
  at = 0;
  readonly #text: string;
  readonly #limits: Limits;
  #values = 0;

  constructor(text: string, limits: Limits) {
    this.#text = text;
    this.#limits = limits;
  }

  get isTooMuch(): boolean {
    return this.#values > this.#limits.values;
  }

  document(start: number): unknown {
    this.at = start;
    const value = this.#value(this.#limits.depth);
    this.#skipBlank();
    return this.at === this.#text.length ? value : undefined;
  }

  #value(levels: number): unknown {
    this.#values += 1;
    if (this.isTooMuch) return undefined;
    const sign = this.#text[this.at];
    if (sign === '"') return this.#string();
    if (sign !== "{" && sign !== "[") return this.#wordOrNumber();
    if (levels === 0) return undefined;
    return sign === "{" ? this.#object(levels - 1) : this.#list(levels - 1);
  }

  #object(levels: number): unknown {
    const value: Record<string, unknown> = {};
    const marks: Marks = new Map();
    this.marks.set(value, marks);
    const isRead = this.#items("}", () => {
      const offset = this.at;
      const key = this.#text[offset] === '"' ? this.#string() : undefined;
      if (key === undefined || !this.#take(":")) return false;
      const member = this.#value(levels);
      if (member === undefined) return false;
      if (marks.has(key)) this.problems.push(duplicateKey(key, offset));
      else {
        setOwn(value, key, member);
        marks.set(key, { offset });
      }
      return true;
    });
    return isRead ? value : undefined;
  }

  #list(levels: number): unknown {
    const value: unknown[] = [];
    const marks: Marks = new Map();
    this.marks.set(value, marks);
    const isRead = this.#items("]", () => {
      const offset = this.at;
      const item = this.#value(levels);
      if (item === undefined) return false;
      marks.set(value.length, { offset });
      value.push(item);
      return true;
    });
    return isRead ? value : undefined;
  }

  /** From the opening bracket to behind `end`; `item` stands at an item and says whether it could read it. */
  #items(end: "}" | "]", item: () => boolean): boolean {
    this.at += 1;
    this.#skipBlank();
    if (this.#text[this.at] === end) {
      this.at += 1;
      return true;
    }
    do {
      if (!item()) return false;
      if (this.#take(end)) return true;
    } while (this.#take(","));
    return false;
  }

  #string(): string | undefined {
    const start = this.at;
    for (let at = start + 1; at < this.#text.length; at += 1) {
      const unit = this.#text.charCodeAt(at);
      if (unit < 0x20) return undefined;
      if (unit === BACKSLASH) return this.#escapedString(start);
      if (unit !== QUOTE) continue;
      this.at = at + 1;
      return this.#text.slice(start + 1, at);
    }
    return undefined;
  }

  #escapedString(start: number): string | undefined {
    let end = start + 1;
    while (end < this.#text.length && this.#text.charCodeAt(end) !== QUOTE)
      end += this.#text.charCodeAt(end) === BACKSLASH ? 2 : 1;
    this.at = end + 1;
    try {
      const value: unknown = JSON.parse(this.#text.slice(start, this.at));
      return typeof value === "string" ? value : undefined;
    } catch {
      // YAML's reader says what is wrong with it.
      return undefined;
    }
  }

  #wordOrNumber(): unknown {
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    NUMBER.lastIndex = this.at;
    const digits = NUMBER.exec(this.#text)?.[0];
    if (digits === undefined) return undefined;
    this.at += digits.length;
    const number = Number(digits);
    return number === 0 ? 0 : number;
  }

  /** Behind blanks. */
  #take(sign: string): boolean {
    this.#skipBlank();
    if (this.#text[this.at] !== sign) return false;
    this.at += 1;
    this.#skipBlank();
    return true;
  }

  #skipBlank(): void {
    const unit = this.#text.charCodeAt(this.at);
    if (unit > 0x20) return;
    BLANK.lastIndex = this.at;
    BLANK.exec(this.#text);
    this.at = BLANK.lastIndex;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
