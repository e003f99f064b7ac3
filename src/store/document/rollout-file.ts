// Performs: a copy of the update states and last good revisions that can be read without the database: a node that lost
// its database must not try again what it has rolled back.

import type { SourceName } from "../../api/pod/source-name.ts";
import { checkedContent, textOf, withChecksum } from "../checked-file.ts";
import { readRolloutRows } from "../checkpoint-schemas.ts";
import type { StoreFiles } from "../store-files.ts";

export interface RolloutRow {
  readonly source: SourceName;
  readonly name: string;
  /** JSON. */
  readonly state: string;
}

export interface CopyRow {
  readonly source: SourceName;
  readonly name: string;
  readonly revision: string;
  /** Sealed. */
  readonly content: Uint8Array;
}

interface RolloutRows {
  readonly states: readonly RolloutRow[];
  readonly copies: readonly CopyRow[];
}

const MAGIC = "agent-rollouts";
/** Far more than all documents of a node together. */
const MAX_BYTES = 64 * 1024 * 1024;

export class RolloutFile {
  readonly #files: StoreFiles;
  readonly #path: string;

  constructor(files: StoreFiles, path: string) {
    this.#files = files;
    this.#path = path;
  }

  /** Best effort: the rows are in the database, and the next change writes the file again. */
  write({ states, copies }: RolloutRows): void {
    const encoded = copies.map((row) => ({ ...row, content: row.content.toBase64() }));
    const text = `${JSON.stringify({ states, copies: encoded })}\n`;
    try {
      if (states.length === 0) this.#files.remove(this.#path);
      else this.#files.writeAtomic(this.#path, withChecksum(MAGIC, text), 0o600);
    } catch {
      // Mostly a full disk, which the write of the rows reports.
    }
  }

  /** undefined = there is none, or it is damaged. */
  read(): RolloutRows | undefined {
    try {
      if (this.#files.info(this.#path) === undefined) return undefined;
      const content = checkedContent(MAGIC, this.#files.read(this.#path, MAX_BYTES));
      const rows = content && readRolloutRows(textOf(content));
      return (
        rows && {
          states: rows.states,
          copies: rows.copies.map((row) => ({
            ...row,
            content: Uint8Array.fromBase64(row.content),
          })),
        }
      );
    } catch {
      // An unreadable file counts as absent: the last good revisions are unknown then.
      return undefined;
    }
  }
}
