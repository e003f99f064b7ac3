// Text to documents: YAML or JSON, several a file, with the place of every field and bounded work.

import { Composer, Lexer, LineCounter, Parser, type CST, type Document } from "yaml";

import type { FieldPath, Locate, Position } from "../decode/field-path.ts";
import { jsonValue } from "./json-value.ts";
import type { Mark } from "./marks.ts";
import { plainYaml } from "./plain-yaml.ts";
import { yamlValue, type DocumentValue, type YamlProblem } from "./yaml-value.ts";
import { messageOf } from "../../lib/errors.ts";
import { failed, ok, type FieldError, type Result } from "../../lib/result.ts";
import { shortText } from "../../lib/short-text.ts";

export interface YamlDocument {
  /** Place in the file, 0 = first; empty documents count but are not returned. */
  readonly index: number;
  /** Plain JSON data; parts may be shared, never cyclic. */
  readonly value: unknown;
  readonly locate: Locate;
}

export interface ReadDocuments {
  /** Every document that could be read; none of them if the file breaks YAML's syntax. */
  readonly documents: readonly YamlDocument[];
  /** Every error, with line and column and an empty path. */
  readonly errors: readonly FieldError[];
}

/** How deep maps and lists may stand in each other. */
const MAX_DEPTH = 100;
/** Work limit of what the library reads: words, marks, line ends and comments of one file, some 900 lines. A file within it costs less than 100 ms on a small server. */
const MAX_TOKENS = 6000;
/** Characters in double quotes that count as one word. */
const QUOTED_PER_WORD = 32;
/** Characters. A tag's prefix is written out wherever the tag stands. */
const MAX_DIRECTIVE = 1000;
/** The same for JSON and plain YAML, which are much cheaper to read. */
const MAX_VALUES = 4000;
/** Those of texts too: a text is one word, and each of its lines costs the library some 200 bytes of memory meanwhile. */
const MAX_LINES = { plain: 100_000, library: 50_000 };
/** Of one file. Each costs the parser more than what stands in it. */
const MAX_DOCUMENTS = 500;
const PLAIN = { depth: 20, values: MAX_VALUES, lines: 2 * MAX_VALUES, documents: MAX_DOCUMENTS };
/** Of one file; more would say the same again. */
const MAX_ERRORS = 5;
/** Characters. The parser's own messages quote the text. */
const MAX_MESSAGE = 200;
const TOO_LONG = "too long: split it into several files";
const TOO_MANY_LINES = `more than ${MAX_LINES.plain} lines: split it into several files`;
const TOO_LONG_FOR_MORE =
  "this is neither plain YAML nor JSON, and the file is too long for more: write it plainly or split the file";
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const BINARY = /[\0-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]/;

/** UTF-8 bytes as text, without the byte order mark. */
export function decodeText(bytes: Uint8Array): Result<string> {
  try {
    return ok(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // The decoder says only that something is wrong.
    return failed([syntaxError("the file is not UTF-8 text", { line: 1, column: 1 })]);
  }
}

/** Never throws. No document at all is the error `Empty`: an empty file is no order to stop its pods. */
export function readDocuments(text: string): ReadDocuments {
  const binary = BINARY.exec(text);
  if (binary !== null) return refused("the file holds binary data", text, binary.index);
  try {
    return readText(text);
  } catch (thrown) {
    if (thrown instanceof LimitError) return refused(thrown.message, text, thrown.offset);
    return refused(`cannot be read as YAML: ${messageOf(thrown)}`, text, 0);
  }
}

/** As JSON or plain YAML if possible, else as all of YAML. */
function readText(text: string): ReadDocuments {
  const tooMany = lineTooMany(text, MAX_LINES.plain);
  if (tooMany !== undefined) throw new LimitError(TOO_MANY_LINES, tooMany);
  const json = jsonValue(text, { depth: MAX_DEPTH, values: MAX_VALUES });
  if ("document" in json) return complete(text, [json.document]);
  if (json.stopped === "TooMuch") throw new LimitError(TOO_LONG, json.at);
  const plain = plainYaml(text, PLAIN);
  if ("documents" in plain) return complete(text, plain.documents);
  if (plain.stopped === "TooMuch") throw new LimitError(TOO_LONG, plain.at);
  const notSimpleAt = Math.max(json.at, plain.at);
  if (lineTooMany(text, MAX_LINES.library) !== undefined)
    throw new LimitError(TOO_LONG_FOR_MORE, notSimpleAt);
  return readYaml(text, notSimpleAt);
}

function complete(text: string, documents: readonly DocumentValue[]): ReadDocuments {
  const read = new Reading(linesOf(text));
  for (const [index, document] of documents.entries()) read.add(index, document);
  return read.result();
}

/** Where the first line too many begins. */
function lineTooMany(text: string, most: number): number | undefined {
  let at = 0;
  for (let line = 1; line <= most; line += 1) {
    at = text.indexOf("\n", at) + 1;
    if (at === 0) return undefined;
  }
  return at;
}

/** Each document becomes data as soon as it is complete: the parser's tree of it is large. */
function readYaml(text: string, notSimpleAt: number): ReadDocuments {
  const lines = new LineCounter();
  const read = new Reading(() => lines);
  let index = 0;
  for (const document of parse({ text, notSimpleAt }, lines)) {
    if (index === MAX_DOCUMENTS)
      throw new LimitError(`more than ${MAX_DOCUMENTS} documents`, document.range[0]);
    read.broken.push(...document.errors.slice(0, MAX_ERRORS));
    if (read.broken.length === 0) read.add(index, yamlValue(document.contents));
    index += 1;
  }
  return read.result();
}

/** What has been read of one file so far. */
class Reading {
  /** Breaks of YAML's syntax. */
  readonly broken: { readonly pos: readonly [number, number]; readonly message: string }[] = [];
  readonly #documents: YamlDocument[] = [];
  readonly #errors: FieldError[] = [];
  readonly #lines: () => LineCounter;

  /** `lines` is called when a place is asked for. */
  constructor(lines: () => LineCounter) {
    this.#lines = lines;
  }

  add(index: number, { value, problems, markOf }: DocumentValue): void {
    for (const problem of problems.slice(0, MAX_ERRORS - this.#errors.length))
      this.#errors.push(problemError(problem, this.#lines()));
    if (problems.length > 0 || value === null) return;
    this.#documents.push({ index, value, locate: (path) => position(markOf(path), this.#lines()) });
  }

  result(): ReadDocuments {
    if (this.broken.length > 0) {
      const errors = this.broken
        .slice(0, MAX_ERRORS)
        .map(({ message, pos }) =>
          syntaxError(withoutText(message), this.#lines().linePos(pos[0])),
        );
      return { documents: [], errors };
    }
    if (this.#documents.length > 0 || this.#errors.length > 0)
      return { documents: this.#documents, errors: this.#errors };
    const empty = syntaxError("it holds no document", { line: 1, column: 1 });
    return { documents: [], errors: [{ ...empty, code: "Empty" }] };
  }
}

/** Counted when first asked for. */
function linesOf(text: string): () => LineCounter {
  let lines: LineCounter | undefined;
  return () => {
    if (lines !== undefined) return lines;
    lines = new LineCounter();
    lines.addNewLine(0);
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1))
      lines.addNewLine(at + 1);
    return lines;
  };
}

/** What the library says before it quotes what it does not understand, which may be a password. */
const QUOTING =
  /^(Block scalar header includes extra characters|Not a YAML token|Not a valid tag|Could not resolve tag|Invalid escape sequence|Unsupported YAML version|Unexpected .*? token in YAML \w+)\b.*$/s;
const QUOTED_TAG = /^(The|Verbatim) .*?\btag.*$/s;

function withoutText(message: string): string {
  return message.replace(QUOTING, "$1").replace(QUOTED_TAG, "Not a valid tag");
}

class LimitError extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** A text, and where it is no longer plain YAML or JSON. */
interface NotSimple {
  readonly text: string;
  readonly notSimpleAt: number;
}

function parse(text: NotSimple, lines: LineCounter): Generator<Document.Parsed, void> {
  // Failsafe keeps every scalar as text: yaml-scalars decides what it means. Duplicate keys are found in yaml-value.
  const composer = new Composer({
    schema: "failsafe",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  lines.addNewLine(0);
  return composer.compose(tokens(text, lines));
}

function* tokens({ text, notSimpleAt }: NotSimple, lines: LineCounter): Generator<CST.Token, void> {
  const parser = new Parser(lines.addNewLine);
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme.startsWith("%") && lexeme.length > MAX_DIRECTIVE)
      throw new LimitError(`a directive of more than ${MAX_DIRECTIVE} characters`, parser.offset);
    count += weightOf(lexeme);
    if (count > MAX_TOKENS) throw new LimitError(TOO_LONG_FOR_MORE, notSimpleAt);
    yield* parser.next(lexeme);
    // The stack also holds the document and the scalar at hand.
    if (parser.stack.length > MAX_DEPTH + 2)
      throw new LimitError(`nested deeper than ${MAX_DEPTH} levels`, parser.offset);
  }
  yield* parser.end();
}

/** Text in double quotes costs the library something for each character, and what looks like an escape as much as a word. */
function weightOf(lexeme: string): number {
  if (!lexeme.startsWith('"')) return 1;
  let weight = 1 + Math.floor(lexeme.length / QUOTED_PER_WORD);
  for (let at = lexeme.indexOf("\\"); at >= 0; at = lexeme.indexOf("\\", at + 2)) weight += 1;
  return weight;
}

function problemError(problem: YamlProblem, lines: LineCounter): FieldError {
  const { line, col } = lines.linePos(problem.offset);
  return { path: "", message: problem.message, code: problem.code, line, column: col };
}

function position(mark: Mark, lines: LineCounter): Position {
  const { line, col } = lines.linePos(mark.offset);
  const place = { line, column: col };
  return mark.text === undefined ? place : { ...place, text: mark.text };
}

function refused(message: string, text: string, offset: number): ReadDocuments {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  const place = { line, column: offset - before.lastIndexOf("\n") };
  return { documents: [], errors: [syntaxError(message, place)] };
}

function syntaxError(
  message: string,
  at: { readonly line: number; readonly col?: number; readonly column?: number },
): FieldError {
  const column = at.column ?? at.col ?? 1;
  return {
    path: "",
    message: shortText(message, MAX_MESSAGE),
    code: "Syntax",
    line: at.line,
    column,
  };
}

/** For values without a text behind them. */
export const locateNothing: Locate = (_path: FieldPath) => undefined;
