// Text to documents: YAML or JSON, several a file, with the place of every field. JSON is YAML, and is not read apart.

import {
  Composer,
  Lexer,
  LineCounter,
  Parser,
  type CST,
  type Document,
  type YAMLParseError,
} from "yaml";

import type { FieldPath, Locate, Position } from "../decode/field-path.ts";
import {
  DOCUMENT_LIMITS,
  FILE_LIMITS,
  lineEnds,
  LimitError,
  TextMeter,
  type TextLimits,
} from "./text-limits.ts";
import {
  yamlValue,
  type DocumentValue,
  type YamlProblem,
  type SourcePosition,
} from "./yaml-value.ts";
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

/** Of one file: after the first few, further errors are consequences of them. */
const MAX_ERRORS = 5;
/** Characters. */
const MAX_MESSAGE = 200;
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const BINARY = /[\0-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]/;

/** UTF-8 bytes as text, without the byte order mark. */
export function decodeText(bytes: Uint8Array): Result<string> {
  try {
    return ok(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return failed([notUtf8(bytes)]);
  }
}

/** Byte order marks of UTF-16: editors of Windows write them. */
const UTF_16: readonly string[] = ["255,254", "254,255"];

function notUtf8(bytes: Uint8Array): FieldError {
  if (UTF_16.includes(bytes.subarray(0, 2).join()))
    return syntaxError("the file is UTF-16 text; save it as UTF-8", { line: 1, column: 1 });
  const good = textBefore(bytes);
  const place = { line: lineEnds(good) + 1, column: good.length - good.lastIndexOf("\n") };
  return syntaxError("the file is not UTF-8 text from here; save it as UTF-8", place);
}

/** All of the text before the first byte that is not UTF-8. The decoder reports no place, so the place is searched for. */
function textBefore(bytes: Uint8Array): string {
  let [good, bad] = [0, bytes.length + 1];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isUtf8(bytes.subarray(0, middle))) good = middle;
    else bad = middle;
  }
  // A character that is not complete is left out.
  return new TextDecoder().decode(bytes.subarray(0, good), { stream: true });
}

/** Its last character may be incomplete. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Never throws. No document at all is the error `Empty`: an empty file does not ask to stop its pods. */
export function readDocuments(
  written: string | Uint8Array,
  limits: TextLimits = FILE_LIMITS,
): ReadDocuments {
  return readText(written, { limits, areWordsText: false });
}

/** The same for a file that others read by YAML 1.2: `yes`, `on` and the like are text. */
export function readModernDocuments(written: string | Uint8Array): ReadDocuments {
  return readText(written, { limits: FILE_LIMITS, areWordsText: true });
}

interface ReadingOptions {
  readonly limits: TextLimits;
  readonly areWordsText: boolean;
}

function readText(written: string | Uint8Array, options: ReadingOptions): ReadDocuments {
  const decoded = typeof written === "string" ? ok(written) : decodeText(written);
  if (!decoded.ok) return { documents: [], errors: decoded.errors };
  const text = decoded.value;
  const reading = new Reading(text, options);
  const binary = BINARY.exec(text);
  if (binary !== null) return reading.refused("the file holds binary data", binary.index);
  try {
    return reading.read();
  } catch (thrown) {
    if (thrown instanceof LimitError) return reading.refused(thrown.message, thrown.offset);
    return reading.refused(`cannot be read as YAML: ${messageOf(thrown)}`, 0);
  }
}

/** A message from the broker; `what` names it in the errors, such as `the document`. */
export function readMessage(payload: Uint8Array, what: string): ReadDocuments {
  const { documents, errors } = readDocuments(payload, DOCUMENT_LIMITS);
  const named = errors.map((error) => ({
    ...error,
    message: error.message.replace(/^the file /, `${what} `),
  }));
  return { documents, errors: named };
}

/** Ends a text with so many errors of syntax that further ones are not of interest. */
class TooManyErrors extends Error {}

class Reading {
  readonly #text: string;
  readonly #limits: TextLimits;
  readonly #areWordsText: boolean;
  readonly #documents: YamlDocument[] = [];
  /** Breaks of YAML's syntax. */
  readonly #broken: FieldError[] = [];
  /** What is wrong with single documents. */
  readonly #problems: FieldError[] = [];
  /** Counted when a place is first asked for. */
  #lines: LineCounter | undefined;

  constructor(text: string, { limits, areWordsText }: ReadingOptions) {
    this.#text = text;
    this.#limits = limits;
    this.#areWordsText = areWordsText;
  }

  read(): ReadDocuments {
    try {
      this.#readAll();
    } catch (thrown) {
      if (!(thrown instanceof TooManyErrors)) throw thrown;
    }
    if (this.#broken.length > 0) return { documents: [], errors: this.#broken };
    if (this.#documents.length > 0 || this.#problems.length > 0)
      return { documents: this.#documents, errors: this.#problems };
    const empty = syntaxError("it holds no document", { line: 1, column: 1 });
    return { documents: [], errors: [{ ...empty, code: "Empty" }] };
  }

  /** The text as a whole, because of what begins at `offset`. */
  refused(message: string, offset: number): ReadDocuments {
    const before = this.#text.slice(0, offset);
    // A hostile text has millions of lines: for one place they are counted, not listed.
    const place = { line: lineEnds(before) + 1, column: offset - before.lastIndexOf("\n") };
    return { documents: [], errors: [syntaxError(message, place)] };
  }

  #readAll(): void {
    const onError = (error: {
      readonly message: string;
      readonly pos: readonly [number, number];
    }) => {
      if (this.#broken.length === MAX_ERRORS) throw new TooManyErrors();
      this.#broken.push(syntaxError(withoutText(error.message), this.#place(error.pos[0])));
    };
    const options = { maxAliased: this.#limits.nodes, areWordsText: this.#areWordsText };
    let index = 0;
    for (const { contents } of composeDocuments(this.#text, { limits: this.#limits, onError })) {
      if (this.#broken.length === 0) this.#add(index, yamlValue(contents, options));
      index += 1;
    }
  }

  #add(index: number, { value, problems, positionOf }: DocumentValue): void {
    for (const problem of problems.slice(0, MAX_ERRORS - this.#problems.length))
      this.#problems.push(this.#problemError(problem));
    if (problems.length > 0 || value === null) return;
    const locate = (path: FieldPath): Position => this.#position(positionOf(path));
    this.#documents.push({ index, value, locate });
  }

  #problemError({ message, code, offset }: YamlProblem): FieldError {
    return { path: "", message, code, ...this.#place(offset) };
  }

  #position({ offset, text }: SourcePosition): Position {
    const place = this.#place(offset);
    return text === undefined ? place : { ...place, text };
  }

  #place(offset: number): Place {
    this.#lines ??= linesOf(this.#text);
    const { line, col } = this.#lines.linePos(offset);
    return { line, column: col };
  }
}

interface Place {
  readonly line: number;
  readonly column: number;
}

function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1))
    lines.addNewLine(at + 1);
  return lines;
}

/** The part of the library's messages before it quotes the text, which may be a password. */
const QUOTING =
  /^(Block scalar header includes extra characters|Not a YAML token|Not a valid tag|Could not resolve tag|Invalid escape sequence|Unsupported YAML version|Unexpected .*? token in YAML \w+)\b.*$/s;
const QUOTED_TAG = /^(The|Verbatim) .*?\btag.*$/s;

function withoutText(message: string): string {
  return message.replace(QUOTING, "$1").replace(QUOTED_TAG, "Not a valid tag");
}

function syntaxError(message: string, place: Place): FieldError {
  return { path: "", message: shortText(message, MAX_MESSAGE), code: "Syntax", ...place };
}

interface ComposeOptions {
  readonly limits: TextLimits;
  /** Called with each error of syntax, in the order of the text. To read no further, it may throw. */
  readonly onError: (error: YAMLParseError) => void;
}

/**
 * Each document as soon as it is complete: the library's tree of it is large, and the caller keeps only its data.
 * Throws LimitError before the first document.
 */
function* composeDocuments(
  text: string,
  { limits, onError }: ComposeOptions,
): Generator<Document.Parsed, void> {
  // Failsafe keeps every scalar as text: yaml-scalars decides what it means. Duplicate keys are found in yaml-value.
  const composer = new Composer({
    schema: "failsafe",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  const tokens = parseTokens(text, limits);
  forwardErrors(composer, onError);
  for (const token of tokens) {
    yield* composer.next(token);
    // Only then the composer has begun a new list of errors.
    if (token.type === "document" || token.type === "doc-end") forwardErrors(composer, onError);
  }
  yield* composer.end();
}

/** The composer would keep an object for each error and each warning, and a hostile text has millions of them. */
function forwardErrors(composer: Composer, onError: (error: YAMLParseError) => void): void {
  const { errors, warnings } = composer.streamInfo();
  errors.push = (...found) => {
    found.forEach(onError);
    return 0;
  };
  warnings.push = () => 0;
}

function parseTokens(text: string, limits: TextLimits): readonly CST.Token[] {
  const parser = new Parser();
  const found: CST.Token[] = [];
  const meter = new TextMeter(limits);
  const lexemes = new Lexer().lex(text);
  for (const lexeme of lexemes) {
    if (!meter.count(lexeme, parser.offset)) throw meter.excess(lexemes);
    const read = requoted(lexeme);
    for (const token of parser.next(read)) found.push(token);
    parser.offset += lexeme.length - read.length;
    meter.checkDepth(parser.stack.length, parser.offset);
  }
  const tokens = [...found, ...parser.end()];
  meter.checkDocuments(tokens);
  return tokens;
}

const SIMPLE_QUOTES = /^"[^"'\\\r\n]*"$/;
const ESCAPE = /\\([^])/g;

/**
 * Text in double quotes is composed character by character, one string object for each, which takes 48 bytes.
 * Without escapes and line ends it is the same in single quotes, and just as long.
 * `\'` is no escape of YAML, but Kubernetes reads it. go-yaml: yaml_parser_scan_flow_scalar
 */
function requoted(lexeme: string): string {
  if (SIMPLE_QUOTES.test(lexeme)) return `'${lexeme.slice(1, -1)}'`;
  if (!lexeme.startsWith('"') || !lexeme.includes("\\'")) return lexeme;
  return lexeme.replaceAll(ESCAPE, (escape, character) => (character === "'" ? "\\x27" : escape));
}
