// Limits of a text: far more than a person needs, and little enough that a hostile text costs the node a moment.

import type { CST } from "yaml";

import { grouped } from "../../lib/short-text.ts";

export interface TextLimits {
  /** UTF-8, as received. */
  readonly bytes: number;
  /** Keys, values and list items of all documents in it. Aliases may add as many. */
  readonly nodes: number;
}

/** A file that a person or a tool wrote: manifests, configuration, fleet.yaml. */
export const FILE_LIMITS: TextLimits = { bytes: 4 * 1024 * 1024, nodes: 50_000 };

/** What arrives over MQTT. Any client of the broker may send one at any time, so it must cost less. */
export const DOCUMENT_LIMITS: TextLimits = { bytes: 48 * 1024, nodes: 10_000 };

/**
 * One object that a client of the API sends. It is read, judged, written as a file with a manager for each field, and read
 * again, in one go: nothing else runs meanwhile, so that it must cost less than a file, which holds many objects.
 */
export const BODY_LIMITS: TextLimits = { bytes: 4 * 1024 * 1024, nodes: 10_000 };

/** How deep maps and lists may be nested. */
export const MAX_DEPTH = 100;

/** Of one file. Each may be wrong in its own way, and then has its own error. */
const MAX_DOCUMENTS = 1000;

/** The lexer's tokens: also blanks, punctuation, comments and line ends. Formatted JSON has five for each node. */
const TOKENS_PER_NODE = 8;

/** Characters. A tag's prefix is repeated wherever the tag is used. */
const MAX_DIRECTIVE = 1000;

/** A text that is refused as a whole, and the offset that is too much. */
export class LimitError extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** How far a text is counted that is too large, in limits: enough to name the number of all but hostile ones. */
const COUNTED = 4;

/** What is counted, and of what there is too much. */
type Counted = "nodes" | "tokens";
const NAMES: Readonly<Record<Counted, string>> = {
  nodes: "nodes (keys, values, list items)",
  tokens: "words, signs and line ends",
};

/** Counts what the lexer and the parser produce, so that nothing is composed from a text that is too large. */
export class TextMeter {
  readonly #limits: Readonly<Record<Counted, number>>;
  readonly #counts: Record<Counted, number> = { nodes: 0, tokens: 0 };
  #exceeded: { readonly what: Counted; readonly offset: number } | undefined;

  constructor({ nodes }: TextLimits) {
    this.#limits = { nodes, tokens: nodes * TOKENS_PER_NODE };
  }

  /** False = the text is too large, and the rest need only be counted. `offset`: where the lexeme begins. */
  count(lexeme: string, offset: number): boolean {
    if (lexeme.length > MAX_DIRECTIVE && lexeme.startsWith("%"))
      throw new LimitError(`a directive of more than ${MAX_DIRECTIVE} characters`, offset);
    if (countsAsNode(lexeme)) this.#counts.nodes += 1;
    // A text of many lines is one lexeme, but each of its lines costs memory.
    this.#counts.tokens += 1 + lineEnds(lexeme);
    for (const what of ["nodes", "tokens"] as const)
      if (this.#counts[what] > this.#limits[what]) this.#exceeded ??= { what, offset };
    return this.#exceeded === undefined;
  }

  /** The error of a text that is too large; `rest` = its lexemes after the one that was too much. */
  excess(rest: Iterable<string>): LimitError {
    const { what, offset } = this.#exceeded ?? { what: "nodes", offset: 0 };
    const counted = COUNTED * this.#limits[what];
    for (const lexeme of rest) {
      this.count(lexeme, offset);
      if (this.#counts[what] > counted) break;
    }
    const count = this.#counts[what];
    const number = count > counted ? `more than ${grouped(counted)}` : grouped(count);
    return tooMany(`${number} ${NAMES[what]}`, this.#limits[what], offset);
  }

  /** `open`: the parser's stack, which also holds the document and the scalar at hand. */
  checkDepth(open: number, offset: number): void {
    if (open > MAX_DEPTH + 2)
      throw new LimitError(`nested deeper than ${MAX_DEPTH} levels`, offset);
  }

  checkDocuments(tokens: readonly CST.Token[]): void {
    const documents = tokens.filter(({ type }) => type === "document");
    const extra = documents[MAX_DOCUMENTS];
    if (extra === undefined) return;
    throw tooMany(`${grouped(documents.length)} documents`, MAX_DOCUMENTS, extra.offset);
  }
}

/** `\x1F` is the lexer's own sign before a scalar without quotes. A tag and an anchor cost as much as a node. */
const NODE_SIGNS: ReadonlySet<string> = new Set(["\x1F", '"', "'", "*", "[", "{", "!", "&"]);

/** Maps and lists without brackets have no lexeme of their own; their keys, dashes and question marks have. */
function countsAsNode(lexeme: string): boolean {
  return lexeme === "-" || lexeme === "?" || NODE_SIGNS.has(lexeme.charAt(0));
}

function tooMany(number: string, most: number, offset: number): LimitError {
  const message = `the file has ${number}, at most ${grouped(most)}; the first that is too much is here: make it smaller or split it`;
  return new LimitError(message, offset);
}

export function lineEnds(lexeme: string): number {
  let count = 0;
  for (let at = lexeme.indexOf("\n"); at >= 0; at = lexeme.indexOf("\n", at + 1)) count += 1;
  return count;
}
