// Text → the YAML library's documents, within limits: tokens are counted before anything is composed from them.

import { Composer, Lexer, Parser, type CST, type Document, type YAMLParseError } from "yaml";

import { TextMeter, type TextLimits } from "./text-limits.ts";

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
  for (const lexeme of new Lexer().lex(text)) {
    meter.count(lexeme, parser.offset);
    for (const token of parser.next(requoted(lexeme))) found.push(token);
    meter.checkDepth(parser.stack.length, parser.offset);
  }
  const tokens = [...found, ...parser.end()];
  meter.checkDocuments(tokens);
  return tokens;
}

const SIMPLE_QUOTES = /^"[^"'\\\r\n]*"$/;

/**
 * Text in double quotes is composed character by character, one string object for each, which takes 48 bytes.
 * Without escapes and line ends it is the same in single quotes, and just as long.
 */
function requoted(lexeme: string): string {
  return SIMPLE_QUOTES.test(lexeme) ? `'${lexeme.slice(1, -1)}'` : lexeme;
}
