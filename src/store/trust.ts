// Performs: what the node must never forget about trust, twice: as a row, and as a file that outlives the database
// (MQTT.md §2). The stricter of the two counts; what is there and cannot be read says that signatures are required.

import type { TrustRecord, TrustStore } from "../protocol/trust-record.ts";
import { messageOf } from "../lib/errors.ts";
import type { Meta } from "./meta.ts";
import type { StoreFiles } from "./store-files.ts";
import { decodeTrust, encodeTrust, stricterOf } from "./trust-text.ts";

export interface TrustFileOptions {
  readonly meta: Meta;
  readonly files: StoreFiles;
  /** `stateDir/trust.json`. */
  readonly path: string;
}

const KEY = "trust";
const MODE = 0o600;
/** Larger than any record: a bundle is a document. */
const MAX_BYTES = 1024 * 1024;
const NOTHING: TrustRecord = { required: false };
const DAMAGED: TrustRecord = { required: true };

export class TrustFile implements TrustStore {
  /** What was damaged at the start, as a sentence; to be said loudly. */
  readonly trouble: string | undefined;
  readonly #options: TrustFileOptions;
  #record: TrustRecord;
  /** What both copies say; undefined = they may differ, or there is none. */
  #written: string | undefined;

  /** Throws what the database throws; a file that cannot be used is trouble, and no reason not to start. */
  constructor(options: TrustFileOptions) {
    this.#options = options;
    const row = this.#readRow();
    const file = this.#readFile();
    this.#record = stricterOf(stricterOf(NOTHING, row.record), file.record);
    const damaged = [...row.troubles, ...file.troubles];
    const troubles = [...damaged, ...this.#mend([row.text, file.text])];
    this.trouble = troubles.length === 0 ? undefined : troubles.join("; ");
  }

  read(): TrustRecord {
    return this.#record;
  }

  /** A write that fails halfway loosens nothing: the copy that is stricter counts at the next start. */
  write(record: TrustRecord): void {
    const { meta, files, path } = this.#options;
    const text = encodeTrust(record);
    if (text === this.#written) return;
    this.#written = undefined;
    try {
      try {
        files.writeAtomic(path, text, MODE);
      } finally {
        // One copy is better than none.
        meta.set(KEY, text, "full");
      }
    } catch (error) {
      this.#tighten(record);
      throw error;
    }
    this.#record = record;
    this.#written = text;
  }

  /** Signatures that are asked for count at once, even where the disk does not take it: the next write tries again. */
  #tighten({ required }: TrustRecord): void {
    if (required) this.#record = { ...this.#record, required };
  }

  #readRow(): Copy {
    const text = this.#options.meta.get(KEY);
    if (text === undefined) return { text, record: NOTHING, troubles: [] };
    const record = decodeTrust(text);
    if (record !== undefined) return { text, record, troubles: [] };
    return { text, record: DAMAGED, troubles: [damaged("the row `trust` of the database")] };
  }

  #readFile(): Copy {
    const { files, path } = this.#options;
    try {
      if (files.info(path) === undefined) return { text: undefined, record: NOTHING, troubles: [] };
      const text = new TextDecoder().decode(files.read(path, MAX_BYTES));
      const record = decodeTrust(text);
      if (record !== undefined) return { text, record, troubles: [] };
      return { text, record: DAMAGED, troubles: [damaged(path)] };
    } catch (error) {
      return {
        text: undefined,
        record: DAMAGED,
        troubles: [damaged(path, messageOf(error))],
      };
    }
  }

  /** Both shall say what counts; where there has never been anything, nothing is written. */
  #mend(texts: readonly (string | undefined)[]): readonly string[] {
    const { required, bundle } = this.#record;
    const text = encodeTrust(this.#record);
    const agree = texts.every((one) => one === text);
    if (agree) this.#written = text;
    const isNew = !required && bundle === undefined && texts.every((one) => one === undefined);
    if (agree || isNew) return [];
    try {
      this.write(this.#record);
      return [];
    } catch (error) {
      return [`what counts cannot be written down: ${messageOf(error)}`];
    }
  }
}

/** One of the two. */
interface Copy {
  readonly text: string | undefined;
  readonly record: TrustRecord;
  readonly troubles: readonly string[];
}

function damaged(
  what: string,
  why = "it is torn or was changed: its checksum does not match",
): string {
  return `${what} cannot be used (${why}); from now on documents must be signed, until "agent trust reset"`;
}
