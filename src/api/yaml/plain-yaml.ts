// The plain part of YAML, in which nearly all manifests are written, read at a fraction of what all of YAML costs: block
// maps and lists, words, quotes with the escapes of JSON, literal text. Whatever looks different in the least is left to the library.

import { inlineValue, PLAIN_KEY } from "./plain-yaml-inline.ts";
import { PlainTree, type PlainValue } from "./plain-tree.ts";
import type { DocumentValue } from "./yaml-value.ts";

interface Limits {
  /** How deep maps and lists may stand in each other. */
  readonly depth: number;
  /** How many values there may be. */
  readonly values: number;
  /** Those of literal text do not count. */
  readonly lines: number;
  readonly documents: number;
}

export type PlainYaml =
  /** None of them is empty. */
  | { readonly documents: readonly DocumentValue[] }
  /** At a line that is not plain, or is one too many; where it begins. */
  | { readonly stopped: "NotPlain" | "TooMuch"; readonly at: number };

export function plainYaml(text: string, limits: Limits): PlainYaml {
  const strange = NOT_PLAIN.exec(text);
  if (strange !== null)
    return { stopped: "NotPlain", at: text.lastIndexOf("\n", strange.index) + 1 };
  const reader = new PlainReader(text, limits);
  const documents = reader.documents();
  if (reader.isTooMuch) return { stopped: "TooMuch", at: reader.lineAt };
  return documents === undefined ? { stopped: "NotPlain", at: reader.lineAt } : { documents };
}

/** Controls, and what some take for a blank, for the end of a line, or for nothing. */
const NOT_PLAIN =
  /[^\n -~\u00A1-\u00AC\u00AE-\u167F\u1681-\u1FFF\u2010-\u2027\u2030-\u205E\u2070-\u2FFF\u3001-\uFEFE\uFF01-\uFFEF]/;
const SAYS_NOTHING = /^ *(?:#.*)?$/;
const DOCUMENT_MARK = "---";
const KEY = new RegExp(`^${PLAIN_KEY}:(?= |$)`);
const FIRST_OF_TEXT = /( *)[^ \n]/y;
const MAX_TEXT_INDENT = 100;
/** The indent of whatever ends a document. */
const NOTHING = -1;

/** Reads line by line; a method that answers undefined has met what is not plain. */
class PlainReader {
  /** Where the line at hand begins. */
  lineAt = 0;
  readonly #text: string;
  readonly #limits: Limits;
  readonly #tree: PlainTree;
  #nextAt = 0;
  #linesLeft: number;
  #isEnd = false;
  /** Of what is left to read of the line at hand. */
  #indent = NOTHING;
  #rest = "";
  #restAt = 0;

  constructor(text: string, limits: Limits) {
    this.#text = text;
    this.#limits = limits;
    this.#tree = new PlainTree(limits.values);
    this.#linesLeft = limits.lines;
  }

  documents(): readonly DocumentValue[] | undefined {
    const found: DocumentValue[] = [];
    if (this.#next() === DOCUMENT_MARK) this.#next();
    for (; this.#indent === 0; this.#next()) {
      const offset = this.#restAt;
      const value = this.#map(0, this.#limits.depth);
      // A line that stands where nobody expects it is still to be read.
      if (value === undefined || !this.#isDone()) return undefined;
      if (found.push(this.#tree.document(value, offset)) > this.#limits.documents) return undefined;
      if (this.#isEnd) return found;
    }
    return undefined;
  }

  #isDone(): boolean {
    return this.#indent === NOTHING;
  }

  get isTooMuch(): boolean {
    return this.#linesLeft < 0 || this.#tree.isFull;
  }

  /** To the next line that says something. */
  #next(): string | undefined {
    let line = this.#nextLine();
    while (line !== undefined && SAYS_NOTHING.test(line)) line = this.#nextLine();
    this.#indent = line === undefined || line === DOCUMENT_MARK ? NOTHING : indentOf(line);
    this.#isEnd = line === undefined;
    this.#rest = line?.slice(Math.max(0, this.#indent)).trimEnd() ?? "";
    this.#restAt = this.lineAt + this.#indent;
    return line;
  }

  #nextLine(): string | undefined {
    if (this.#nextAt >= this.#text.length || this.#linesLeft < 0) return undefined;
    this.#linesLeft -= 1;
    this.lineAt = this.#nextAt;
    const end = this.#text.indexOf("\n", this.lineAt);
    this.#nextAt = end < 0 ? this.#text.length : end + 1;
    return this.#text.slice(this.lineAt, end < 0 ? undefined : end);
  }

  #map(indent: number, levels: number): unknown {
    if (levels === 0) return undefined;
    const map = this.#tree.newMap();
    while (this.#indent === indent) {
      const offset = this.#restAt;
      const sign = KEY.exec(this.#rest)?.[0];
      const key = sign?.slice(0, -1);
      if (sign === undefined || key === undefined || !map.takes(key)) return undefined;
      this.#skip(sign.length);
      const member = this.#member(indent, levels - 1);
      if (member === undefined || !map.put(key, member, offset)) return undefined;
    }
    return map.value;
  }

  #list(indent: number, levels: number): unknown {
    if (levels === 0) return undefined;
    const list = this.#tree.newList();
    while (this.#indent === indent && isItem(this.#rest)) {
      const inner = indent + this.#skip(1);
      const offset = this.#restAt;
      const item = this.#item({ indent, inner }, levels - 1);
      if (item === undefined || !list.add(item, offset)) return undefined;
    }
    return list.value;
  }

  /** Behind so many characters and the blanks there; how many that are. */
  #skip(count: number): number {
    const behind = this.#rest.slice(count).trimStart();
    const skipped = this.#rest.length - behind.length;
    this.#rest = behind;
    this.#restAt += skipped;
    return skipped;
  }

  /** What a key stands for; its list may stand as far left as the key. */
  #member(indent: number, levels: number): PlainValue | undefined {
    if (!isEmpty(this.#rest)) return this.#scalar(indent);
    this.#next();
    if (this.#indent <= indent && !(this.#indent === indent && isItem(this.#rest)))
      return { value: null, text: "" };
    return this.#block(levels);
  }

  #item(
    { indent, inner }: { readonly indent: number; readonly inner: number },
    levels: number,
  ): PlainValue | undefined {
    // Where it stands the library knows.
    if (isEmpty(this.#rest)) return undefined;
    if (!isItem(this.#rest) && !KEY.test(this.#rest)) return this.#scalar(indent);
    // The item begins a map or a list of its own in this very line.
    this.#indent = inner;
    return this.#block(levels);
  }

  /** The map or list that begins with what is left of this line. */
  #block(levels: number): PlainValue | undefined {
    const read = isItem(this.#rest)
      ? this.#list(this.#indent, levels)
      : this.#map(this.#indent, levels);
    return read === undefined ? undefined : { value: read };
  }

  /** To the end of the line, or of the text below it. */
  #scalar(indent: number): PlainValue | undefined {
    const read = this.#rest.startsWith("|")
      ? this.#literal(indent)
      : inlineValue(this.#rest, { tree: this.#tree, offset: this.#restAt });
    if (read !== undefined) this.#next();
    return read;
  }

  /** Ends before the line after it. */
  #literal(indent: number): PlainValue | undefined {
    const isStripped = this.#rest === "|-";
    if (this.#rest !== "|" && !isStripped) return undefined;
    FIRST_OF_TEXT.lastIndex = this.#nextAt;
    const inner = FIRST_OF_TEXT.exec(this.#text)?.[1]?.length ?? NOTHING;
    if (inner <= indent || inner > MAX_TEXT_INDENT) return undefined;
    const less = new RegExp(`^ {0,${inner - 1}}[^ \\n]`, "gm");
    less.lastIndex = this.#nextAt;
    const end = less.exec(this.#text)?.index ?? this.#text.length;
    const body = this.#text.slice(this.#nextAt, end);
    // Without a last line end it is not clear where the text ends.
    if (!body.endsWith("\n") || new RegExp(`^ {${inner + 1},}$`, "m").test(body)) return undefined;
    this.#nextAt = end;
    const lines = withoutLineEnds(body.replaceAll(new RegExp(`^ {1,${inner}}`, "gm"), ""));
    return { value: isStripped ? lines : `${lines}\n` };
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

function withoutLineEnds(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\n") end -= 1;
  return text.slice(0, end);
}
