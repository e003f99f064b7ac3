// Text to documents: YAML or JSON, several a file, with the place of every field and bounded work.

import { Composer, Lexer, LineCounter, Parser, type CST, type Document } from "yaml";

import type { FieldPath, Locate, Position } from "./field-path.ts";
import { yamlValue, type Mark, type YamlProblem } from "./yaml-value.ts";
import { messageOf } from "../lib/errors.ts";
import { failed, ok, type FieldError, type Result } from "../lib/result.ts";

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
/** Work limit: words, marks, line ends and comments of one file. */
const MAX_TOKENS = 200_000;
/** Of one document; more would say the same again. */
const MAX_ERRORS = 5;
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
  const lines = new LineCounter();
  const binary = BINARY.exec(text);
  if (binary !== null) return refused("the file holds binary data", text, binary.index);
  try {
    const parsed = parse(text, lines);
    const broken = parsed.flatMap((document) => document.errors);
    if (broken.length > 0)
      return { documents: [], errors: broken.slice(0, MAX_ERRORS).map(asError) };
    return convert(parsed, lines);
  } catch (thrown) {
    if (thrown instanceof LimitError) return refused(thrown.message, text, thrown.offset);
    return refused(`cannot be read as YAML: ${messageOf(thrown)}`, text, 0);
  }

  function asError(error: { readonly pos: readonly [number, number]; readonly message: string }) {
    return syntaxError(error.message, lines.linePos(error.pos[0]));
  }
}

class LimitError extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

function parse(text: string, lines: LineCounter): Document.Parsed[] {
  // Failsafe keeps every scalar as text: yaml-scalars decides what it means. Duplicate keys are found in yaml-value.
  const composer = new Composer({
    schema: "failsafe",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  lines.addNewLine(0);
  return [...composer.compose(tokens(text, lines))];
}

function* tokens(text: string, lines: LineCounter): Generator<CST.Token, void> {
  const parser = new Parser(lines.addNewLine);
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    count += 1;
    if (count > MAX_TOKENS)
      throw new LimitError("too long: split it into several files", parser.offset);
    // The stack also holds the document and the scalar at hand.
    if (parser.stack.length > MAX_DEPTH + 2)
      throw new LimitError(`nested deeper than ${MAX_DEPTH} levels`, parser.offset);
  }
  yield* parser.end();
}

function convert(parsed: readonly Document.Parsed[], lines: LineCounter): ReadDocuments {
  const documents: YamlDocument[] = [];
  const errors: FieldError[] = [];
  for (const [index, document] of parsed.entries()) {
    const { value, problems, markOf } = yamlValue(document.contents);
    errors.push(...problems.slice(0, MAX_ERRORS).map((problem) => problemError(problem, lines)));
    if (problems.length > 0 || value === null) continue;
    documents.push({ index, value, locate: (path) => position(markOf(path), lines) });
  }
  if (documents.length > 0 || errors.length > 0) return { documents, errors };
  const empty = syntaxError("it holds no document", { line: 1, column: 1 });
  return { documents, errors: [{ ...empty, code: "Empty" }] };
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
  const before = text.slice(0, offset).split("\n");
  const place = { line: before.length, column: (before.at(-1) ?? "").length + 1 };
  return { documents: [], errors: [syntaxError(message, place)] };
}

function syntaxError(
  message: string,
  at: { readonly line: number; readonly col?: number; readonly column?: number },
): FieldError {
  return { path: "", message, code: "Syntax", line: at.line, column: at.column ?? at.col ?? 1 };
}

/** For values without a text behind them. */
export const locateNothing: Locate = (_path: FieldPath) => undefined;
