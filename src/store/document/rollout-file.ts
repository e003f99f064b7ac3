// Performs: a copy of the update states and last good revisions that can be read without the database: a node that lost
// its database must not try again what it has rolled back.

import { checkedContent, textOf, withChecksum } from "../checked-file.ts";
import { readRolloutRows, writeRolloutRows, type RolloutRows } from "../checkpoint-schemas.ts";
import type { StoreFiles } from "../store-files.ts";

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
  write(rows: RolloutRows): void {
    const text = `${JSON.stringify(writeRolloutRows(rows))}\n`;
    try {
      if (rows.states.length === 0) this.#files.remove(this.#path);
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
      return content && readRolloutRows(textOf(content));
    } catch {
      // An unreadable file counts as absent: the last good revisions are unknown then.
      return undefined;
    }
  }
}
