// Performs: the second copy of how updates stand: a file that can be read without the database, and proves itself. A
// node that has lost its database must not try again what it has taken back.

import { z } from "zod";
import type { SourceName } from "../../api/pod/source-name.ts";
import { isSource } from "./document-file.ts";
import { sha256 } from "../sha256.ts";
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

export interface RolloutRows {
  readonly states: readonly RolloutRow[];
  readonly copies: readonly CopyRow[];
}

export interface RolloutFileOptions {
  readonly files: StoreFiles;
  readonly path: string;
}

const MAGIC = "agent-rollouts";
/** Far more than all documents of a node together. */
const MAX_BYTES = 64 * 1024 * 1024;

const CONTENT = z.object({
  states: z.array(
    z.object({ source: z.custom<SourceName>(isSource), name: z.string(), state: z.string() }),
  ),
  copies: z.array(
    z.object({
      source: z.custom<SourceName>(isSource),
      name: z.string(),
      revision: z.string(),
      content: z.base64(),
    }),
  ),
});

export class RolloutFile {
  readonly #options: RolloutFileOptions;

  constructor(options: RolloutFileOptions) {
    this.#options = options;
  }

  /** What cannot be written is written with the next change: the database has it. */
  write({ states, copies }: RolloutRows): void {
    const { files, path } = this.#options;
    const sealed = copies.map((row) => ({ ...row, content: row.content.toBase64() }));
    const text = `${JSON.stringify({ states, copies: sealed })}\n`;
    try {
      if (states.length === 0) files.remove(path);
      else files.writeAtomic(path, `${MAGIC} 1 ${sha256(text)}\n${text}`, 0o600);
    } catch {
      // A full disk, mostly; whoever wrote the rows has said so.
    }
  }

  /** undefined = there is none, or it is damaged. */
  read(): RolloutRows | undefined {
    const { files, path } = this.#options;
    if (files.info(path) === undefined) return undefined;
    try {
      const whole = new TextDecoder().decode(files.read(path, MAX_BYTES));
      const end = whole.indexOf("\n") + 1;
      const text = whole.slice(end);
      if (whole.slice(0, end) !== `${MAGIC} 1 ${sha256(text)}\n`) return undefined;
      const { states, copies } = CONTENT.parse(JSON.parse(text));
      const opened = copies.map((row) => ({
        ...row,
        content: Uint8Array.fromBase64(row.content),
      }));
      return { states, copies: opened };
    } catch {
      // As good as not there: what was good is then nobody's knowledge.
      return undefined;
    }
  }
}
