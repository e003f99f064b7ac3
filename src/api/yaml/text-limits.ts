// How much text is read: far more than anybody needs, and little enough that a hostile text costs the node a moment.

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

/** How deep maps and lists may be nested. */
export const MAX_DEPTH = 100;

/** Of one file. Each may be wrong in its own way, and then has its own error. */
export const MAX_DOCUMENTS = 1000;

/** The lexer's tokens: also blanks, punctuation, comments and line ends. Formatted JSON has five for each node. */
export const TOKENS_PER_NODE = 8;

/** Characters. A tag's prefix is repeated wherever the tag is used. */
export const MAX_DIRECTIVE = 1000;
