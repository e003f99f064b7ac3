// Text → the YAML library's documents, within limits: tokens are counted before anything is composed from them.

import { Composer, Lexer, Parser, type CST, type Document, type YAMLParseError } from "yaml";

import {
  MAX_DEPTH,
  MAX_DIRECTIVE,
  MAX_DOCUMENTS,
  TOKENS_PER_NODE,
  type TextLimits,
} from "./text-limits.ts";

/** A text that is refused as a whole, and the offset that is too much. */
export class LimitError extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
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
export function* composeDocuments(
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
  const extra = tokens.filter(({ type }) => type === "document")[MAX_DOCUMENTS];
  if (extra !== undefined) throw tooMany("documents", MAX_DOCUMENTS, extra.offset);
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
  const mostTokens = limits.nodes * TOKENS_PER_NODE;
  let nodes = 0;
  let tokens = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme.length > MAX_DIRECTIVE && lexeme.startsWith("%"))
      throw new LimitError(`a directive of more than ${MAX_DIRECTIVE} characters`, parser.offset);
    if (countsAsNode(lexeme)) nodes += 1;
    if (nodes > limits.nodes)
      throw tooMany("nodes (keys, values, list items)", limits.nodes, parser.offset);
    // A text of many lines is one lexeme, but each of its lines costs memory.
    tokens += 1 + lineEnds(lexeme);
    if (tokens > mostTokens) throw tooMany("words, signs and line ends", mostTokens, parser.offset);
    for (const token of parser.next(requoted(lexeme))) found.push(token);
    // The stack also holds the document and the scalar at hand.
    if (parser.stack.length > MAX_DEPTH + 2)
      throw new LimitError(`nested deeper than ${MAX_DEPTH} levels`, parser.offset);
  }
  return [...found, ...parser.end()];
}

const SIMPLE_QUOTES = /^"[^"'\\\r\n]*"$/;

/**
 * Text in double quotes is composed character by character, one string object for each, which takes 48 bytes.
 * Without escapes and line ends it is the same in single quotes, and just as long.
 */
function requoted(lexeme: string): string {
  return SIMPLE_QUOTES.test(lexeme) ? `'${lexeme.slice(1, -1)}'` : lexeme;
}

/** `\x1F` is the lexer's own sign before a scalar without quotes. A tag and an anchor cost as much as a node. */
const NODE_SIGNS: ReadonlySet<string> = new Set(["\x1F", '"', "'", "*", "[", "{", "!", "&"]);

/** Maps and lists without brackets have no lexeme of their own; their keys, dashes and question marks have. */
function countsAsNode(lexeme: string): boolean {
  return lexeme === "-" || lexeme === "?" || NODE_SIGNS.has(lexeme.charAt(0));
}

function tooMany(what: string, most: number, offset: number): LimitError {
  const message = `the file has more than ${most} ${what}; number ${most + 1} is here: make it smaller or split it`;
  return new LimitError(message, offset);
}

export function lineEnds(lexeme: string): number {
  let count = 0;
  for (let at = lexeme.indexOf("\n"); at >= 0; at = lexeme.indexOf("\n", at + 1)) count += 1;
  return count;
}
