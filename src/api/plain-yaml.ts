// The plain part of YAML, in which nearly all manifests are written, read at a fraction of what all of YAML costs: block
// maps and lists, words, quotes without escapes, literal text. Whatever looks different in the least is left to the library.

import { inlineValue, PLAIN_KEY } from "./plain-yaml-inline.ts";

interface Limits {
  /** How deep maps and lists may stand in each other. */
  readonly depth: number;
  readonly characters: number;
  readonly documents: number;
}

/** The value of each document, none of them empty; undefined = the text is not plain, or not within the limits. */
export function plainYaml(text: string, limits: Limits): readonly unknown[] | undefined {
  if (text.length > limits.characters || !PLAIN_TEXT.test(text)) return undefined;
  return new PlainReader(text, limits).documents();
}

const PLAIN_TEXT = /^[\n -~]*$/;
const SAYS_NOTHING = /^ *(?:#.*)?$/;
const DOCUMENT_MARK = "---";
const KEY = new RegExp(`^${PLAIN_KEY}:(?= |$)`);
/** The indent of whatever ends a document. */
const NOTHING = -1;

/** Reads line by line; a method that answers undefined has met what is not plain. */
class PlainReader {
  readonly #lines: readonly string[];
  readonly #limits: Limits;
  #at = -1;
  /** Of the line at hand. */
  #indent = NOTHING;
  /** What is left to read of it. */
  #rest = "";

  constructor(text: string, limits: Limits) {
    this.#lines = text.split("\n");
    this.#limits = limits;
  }

  documents(): readonly unknown[] | undefined {
    const found: unknown[] = [];
    this.#next();
    if (this.#isMark()) this.#next();
    for (; this.#indent === 0; this.#next()) {
      const value = this.#map(0, this.#limits.depth);
      // A line that stands where nobody expects it is still to be read.
      if (value === undefined || !this.#isDone()) return undefined;
      if (found.push(value) > this.#limits.documents) return undefined;
      if (this.#at >= this.#lines.length) return found;
    }
    return undefined;
  }

  /** To the next line that says something. */
  #next(): void {
    do this.#at += 1;
    while (SAYS_NOTHING.test(this.#lines[this.#at] ?? DOCUMENT_MARK));
    const line = this.#lines[this.#at];
    if (line === undefined || line === DOCUMENT_MARK) {
      this.#indent = NOTHING;
      return;
    }
    this.#indent = indentOf(line);
    this.#rest = line.slice(this.#indent).trimEnd();
  }

  #isDone(): boolean {
    return this.#indent === NOTHING;
  }

  #isMark(): boolean {
    return this.#lines[this.#at] === DOCUMENT_MARK;
  }

  #map(indent: number, levels: number): unknown {
    if (levels === 0) return undefined;
    const value: Record<string, unknown> = {};
    while (this.#indent === indent) {
      const sign = KEY.exec(this.#rest)?.[0];
      const key = sign?.slice(0, -1);
      if (sign === undefined || key === undefined) return undefined;
      if (key === "__proto__" || Object.hasOwn(value, key)) return undefined;
      this.#rest = this.#rest.slice(sign.length).trimStart();
      const member = this.#member(indent, levels - 1);
      if (member === undefined) return undefined;
      value[key] = member;
    }
    return value;
  }

  #list(indent: number, levels: number): unknown {
    if (levels === 0) return undefined;
    const value: unknown[] = [];
    while (this.#indent === indent && isItem(this.#rest)) {
      const item = this.#item(indent, levels - 1);
      if (item === undefined) return undefined;
      value.push(item);
    }
    return value;
  }

  /** What a key stands for; its list may stand as far left as the key. */
  #member(indent: number, levels: number): unknown {
    if (!isEmpty(this.#rest)) return this.#scalar(indent);
    this.#next();
    if (this.#indent === indent && isItem(this.#rest)) return this.#list(indent, levels);
    return this.#below(indent, levels);
  }

  #item(indent: number, levels: number): unknown {
    const behind = this.#rest.slice(1).trimStart();
    const inner = indent + this.#rest.length - behind.length;
    this.#rest = behind;
    if (isEmpty(behind)) {
      this.#next();
      return this.#below(indent, levels);
    }
    if (!isItem(behind) && !KEY.test(behind)) return this.#scalar(indent);
    // The item begins a map or a list of its own in this very line.
    this.#indent = inner;
    return this.#below(indent, levels);
  }

  /** What stands further right than `indent`. */
  #below(indent: number, levels: number): unknown {
    if (this.#indent <= indent) return null;
    return isItem(this.#rest) ? this.#list(this.#indent, levels) : this.#map(this.#indent, levels);
  }

  /** To the end of the line, or of the text below it. */
  #scalar(indent: number): unknown {
    const isText = this.#rest.startsWith("|");
    const value = isText ? this.#text(indent) : inlineValue(this.#rest);
    if (value !== undefined) this.#next();
    return value;
  }

  /** Ends at its last line. */
  #text(indent: number): string | undefined {
    const isStripped = this.#rest === "|-";
    if (this.#rest !== "|" && !isStripped) return undefined;
    const body: string[] = [];
    const inner = indentOf(this.#lines[this.#at + 1] ?? "");
    if (inner <= indent) return undefined;
    for (;;) {
      const line = this.#lines[this.#at + 1];
      // Without a last line end it is not clear where the text ends.
      if (line === undefined) return undefined;
      const left = indentOf(line);
      const isBlank = left === NOTHING;
      if (isBlank && line.length > inner) return undefined;
      if (!isBlank && left < inner) break;
      if (this.#at + 2 === this.#lines.length && line === "") break;
      body.push(line.slice(inner));
      this.#at += 1;
    }
    while (body.at(-1) === "") body.pop();
    return body.join("\n") + (isStripped ? "" : "\n");
  }
}

/** NOTHING for a line of blanks. */
function indentOf(line: string): number {
  return line.search(/[^ ]/);
}

function isItem(rest: string): boolean {
  return rest === "-" || rest.startsWith("- ");
}

function isEmpty(rest: string): boolean {
  return rest === "" || rest.startsWith("#");
}
