// Performs: stores the trust record twice, as a row and as `trust.json`, which outlives the database. The stricter of
// the two counts; a copy that is present and unreadable means that signatures are required. So does a signed document
// while both copies are gone.

import { messageOf } from "../lib/errors.ts";
import { sha256 } from "../lib/system-sha256.ts";
import { textOf } from "./checked-file.ts";
import { readCheckedTrust, readTrustRecord } from "./checkpoint-schemas.ts";
import type { Meta } from "./meta.ts";
import type { PlainFiles } from "../lib/files/plain-files.ts";
import type { TrustRecord } from "../protocol/trust-bundle.ts";

interface TrustFileOptions {
  readonly meta: Meta;
  readonly files: PlainFiles;
  /** `stateDir/trust.json`. */
  readonly path: string;
  /** Whether a document in force was signed: then there was a record. */
  readonly holdsSigned: boolean;
}

const KEY = "trust";
const MODE = 0o600;
/** Larger than any record. */
const MAX_BYTES = 1024 * 1024;
const NOTHING: TrustRecord = { required: false };
const DAMAGED: TrustRecord = { required: true };

export class TrustFile {
  /** What was damaged at the start, as a sentence; the caller logs it as an error. */
  readonly trouble: string | undefined;
  readonly #options: TrustFileOptions;
  #record: TrustRecord;
  /** The text of both copies; undefined = they may differ, or there is none. */
  #written: string | undefined;

  /** Throws what the database throws; an unusable file is reported as `trouble` and does not prevent the start. */
  constructor(options: TrustFileOptions) {
    this.#options = options;
    const row = this.#readRow();
    const file = this.#readFile();
    const lost = this.#lost(row, file);
    this.#record = [row, file, ...lost].map(({ record }) => record).reduce(stricterOf, NOTHING);
    const damaged = [row, file, ...lost].flatMap(({ troubles }) => troubles);
    const troubles = [...damaged, ...this.#mend([row.text, file.text])];
    this.trouble = troubles.length === 0 ? undefined : troubles.join("; ");
  }

  /** A record that exists and cannot be read counts as `required`. Never throws. */
  read(): TrustRecord {
    return this.#record;
  }

  /** On the disk when it returns, otherwise it throws. A write that fails halfway loosens nothing: the stricter copy counts at the next start. */
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

  /** Required signatures count at once, even if they cannot be stored: the next write tries again. */
  #tighten({ required }: TrustRecord): void {
    if (required) this.#record = { ...this.#record, required };
  }

  #readRow(): Copy {
    return copyOf("the row `trust` of the database", this.#options.meta.get(KEY));
  }

  #readFile(): Copy {
    const { files, path } = this.#options;
    try {
      const isThere = files.info(path) !== undefined;
      return copyOf(path, isThere ? textOf(files.read(path, MAX_BYTES)) : undefined);
    } catch (error) {
      const troubles = [damaged(path, messageOf(error))];
      return { text: undefined, record: DAMAGED, troubles };
    }
  }

  /** A reset leaves a record behind: without any, a signed document means that both copies were lost. */
  #lost(row: Copy, file: Copy): readonly Copy[] {
    const isNone = [row, file].every(
      ({ text, troubles }) => text === undefined && troubles.length === 0,
    );
    if (!isNone || !this.#options.holdsSigned) return [];
    const why = "it and the row `trust` of the database are gone, but a stored document is signed";
    const { path } = this.#options;
    return [{ text: undefined, record: DAMAGED, troubles: [damaged(path, why)] }];
  }

  /** Makes both copies equal to the record; a node without any trust writes nothing. */
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
      return [`the trust record cannot be stored: ${messageOf(error)}`];
    }
  }
}

/** The row or the file. */
interface Copy {
  readonly text: string | undefined;
  readonly record: TrustRecord;
  readonly troubles: readonly string[];
}

/** `text` undefined = there is none. */
function copyOf(what: string, text: string | undefined): Copy {
  const record = text === undefined ? NOTHING : decodeTrust(text);
  return { text, record: record ?? DAMAGED, troubles: record === undefined ? [damaged(what)] : [] };
}

function damaged(
  what: string,
  why = "it is torn or was changed: its checksum does not match",
): string {
  return `${what} cannot be used (${why}); from now on documents must be signed, until "agent trust reset"`;
}

export function encodeTrust({ required, bundle }: TrustRecord): string {
  const record = {
    required,
    ...(bundle === undefined
      ? {}
      : { bundle: { version: bundle.version, envelope: bundle.envelope.toBase64() } }),
  };
  return `${JSON.stringify({ record, sha256: sha256(JSON.stringify(record)) })}\n`;
}

/** undefined when it is torn, changed, or not such a text. Never throws. */
export function decodeTrust(text: string): TrustRecord | undefined {
  const checked = readCheckedTrust(text);
  if (checked?.record === undefined) return undefined;
  if (checked.sha256 !== sha256(JSON.stringify(checked.record))) return undefined;
  return readTrustRecord(checked.record);
}

/** Requires what either requires, and keeps the newer bundle. */
export function stricterOf(a: TrustRecord, b: TrustRecord): TrustRecord {
  const required = a.required || b.required;
  const bundle = (a.bundle?.version ?? 0) >= (b.bundle?.version ?? 0) ? a.bundle : b.bundle;
  return bundle === undefined ? { required } : { required, bundle };
}
