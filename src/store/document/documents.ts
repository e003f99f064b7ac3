// Performs: stores each accepted desired document twice, as a row and as a file: a lost database is rebuilt from the
// files.

import { join } from "node:path";
import type { AcceptedDocument } from "../../protocol/desired-document.ts";
import { digestOf } from "../../protocol/dsse.ts";
import { messageOf } from "../../lib/errors.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import type { Database, Query } from "../sqlite/database.ts";
import { Table } from "../sqlite/table.ts";
import type { Meta } from "../meta.ts";
import { isSealed, type Opened, type SecretBox } from "../seal-secrets.ts";
import type { PlainFiles } from "../../lib/files/plain-files.ts";
import {
  DOCUMENT_COLUMNS,
  decodeDocumentFile,
  documentFileStem,
  documentRow,
  encodeDocumentFile,
  isSameDocument,
  isSameFile,
  storedDocument,
  type DocumentRow,
  type StoredDocument,
} from "./stored-document.ts";
import { isSourceName, type SourceName } from "../../api/pod/labels.ts";

interface DocumentsOptions {
  readonly database: Database;
  readonly meta: Meta;
  readonly files: PlainFiles;
  readonly secrets: SecretBox;
  /** `stateDir/desired`. */
  readonly directory: string;
}

/** What was repaired when rows and files were compared at the start; for the log. */
interface DocumentRepair {
  /** `Restored`: the row, from its file. `Rewritten`: the file, from its row. `Damaged`: a file that cannot be used. */
  readonly type: "Restored" | "Rewritten" | "Damaged";
  readonly path: string;
  readonly message: string;
}

/** Larger than any document that can be accepted. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Prefix of the keys that mark sources with a document. */
const SYNCED = "spoken:";

export class Documents {
  /** Made at the start. */
  readonly repairs: readonly DocumentRepair[];
  readonly #options: DocumentsOptions;
  readonly #table: Table<DocumentRow, "source">;
  readonly #observe: Query<[number, string, number], unknown>;
  readonly #forget: Query<[string], unknown>;

  constructor(options: DocumentsOptions) {
    this.#options = options;
    const { database, files, directory } = options;
    this.#table = new Table(database, "document", DOCUMENT_COLUMNS);
    this.#observe = database.query(
      "UPDATE document SET observed_generation = ? WHERE source = ? AND observed_generation <> ?",
    );
    this.#forget = database.query("UPDATE document SET forgotten_digest = digest WHERE source = ?");
    files.makeDirectory(directory, 0o700);
    this.repairs = this.#reconcile();
  }

  get(source: SourceName): AcceptedDocument | undefined {
    const row = this.#table.get({ source });
    return row === undefined ? undefined : this.#opened(storedDocument(row).document);
  }

  /** Whether a document in force was signed. */
  holdsSigned(): boolean {
    return this.#table.all().some((row) => storedDocument(row).document.signed === true);
  }

  /** From now on a document of any version may replace the present one. Only the row keeps this, not the file. */
  forgetVersion(source: SourceName): void {
    this.#options.database.transaction(() => this.#forget.run(source), "full");
  }

  /**
   * Every source that ever had a document in this database, or in the files it was rebuilt from. Only the running pods
   * of such a source may be treated as orphans.
   */
  synced(): readonly SourceName[] {
    const { meta } = this.#options;
    return meta
      .keys(SYNCED)
      .map((key) => key.slice(SYNCED.length))
      .filter(isSourceName);
  }

  /**
   * Row and files are on the disk when it returns, or it throws and nothing is accepted. The document that is already
   * stored (same epoch, generation, digest, signed or not) writes nothing, unless its payload cannot be decrypted.
   */
  accept(document: AcceptedDocument): void {
    const row = this.#table.get(document);
    const before = row === undefined ? undefined : storedDocument(row);
    if (before !== undefined && isSameDocument(before.document, document) && this.#opens(before))
      return;
    const next = { serial: (before?.serial ?? 0) + 1, document: this.#sealed(document) };
    try {
      // Files before the commit: a crash in between leaves a file with a higher serial, which the next start adopts.
      this.#options.database.transaction(() => {
        this.#write(next);
        if (before !== undefined) this.#writeFile(before, "prev");
        this.#writeFile(next, "doc");
      }, "full");
    } catch (error) {
      this.#restoreFile(before, document.source);
      throw error;
    }
  }

  /** Writes only when it differs. */
  setObserved(source: SourceName, generation: number): void {
    this.#options.database.transaction(() => this.#observe.run(generation, source, generation));
  }

  /** Removes row and files; `synced` still lists the source. */
  remove(source: SourceName): void {
    // Files first: the next start writes the missing file of a row, and would adopt a file without a row.
    const { database, files } = this.#options;
    for (const suffix of ["doc", "prev"] as const) files.remove(this.#path(source, suffix));
    if (this.#table.get({ source }) === undefined) return;
    database.transaction(() => this.#table.remove({ source }), "full");
  }

  /** As stored in row and file: sealed if it holds a Secret, else plain, so that any version of the agent reads it. */
  #sealed(document: AcceptedDocument): AcceptedDocument {
    const { payload, holdsSecrets = false } = document;
    // A plain payload that looks sealed could not be opened later.
    if (!holdsSecrets && !isSealed(payload)) return document;
    return { ...document, payload: this.#options.secrets.seal(payload, documentLabel(document)) };
  }

  #opened(document: AcceptedDocument): AcceptedDocument {
    const holdsSecrets = isSealed(document.payload);
    const opened = openDocument(document, this.#options.secrets);
    const read = opened.ok
      ? { payload: opened.plain }
      : { payload: new Uint8Array(), lost: opened.why };
    return { ...document, ...read, ...(holdsSecrets ? { holdsSecrets } : {}) };
  }

  #opens({ document }: StoredDocument): boolean {
    return this.#opened(document).lost === undefined;
  }

  #write(stored: StoredDocument): void {
    this.#table.put(documentRow(stored));
    this.#options.meta.set(SYNCED + stored.document.source, "1");
  }

  #writeFile(document: StoredDocument, suffix: "doc" | "prev"): void {
    const path = this.#path(document.document.source, suffix);
    this.#options.files.writeAtomic(path, encodeDocumentFile(document), 0o600);
  }

  #restoreFile(before: StoredDocument | undefined, source: SourceName): void {
    try {
      if (before === undefined) this.#options.files.remove(this.#path(source, "doc"));
      else this.#writeFile(before, "doc");
    } catch {
      // The error that is being thrown has the cause. A file that stays newer than its row is complete; the next start adopts it.
    }
  }

  #path(source: SourceName, suffix: "doc" | "prev"): string {
    return join(this.#options.directory, `${documentFileStem(source)}.${suffix}`);
  }

  /** The higher serial wins, and of two equal ones what can be used; then every file is made equal to its row. */
  #reconcile(): readonly DocumentRepair[] {
    const { database } = this.#options;
    const found = this.#readFiles();
    const repairs = [...found.damaged];
    for (const { path, file } of found.newest.values()) {
      const row = this.#table.get(file.document);
      if (row !== undefined && !this.#isBetter(file, storedDocument(row))) continue;
      const known = row === undefined ? undefined : storedDocument(row).document;
      database.transaction(() => this.#write(withObserved(file, known)), "full");
      const { source, generation } = file.document;
      const message = `generation ${generation} of ${source} was restored from its file`;
      repairs.push({ type: "Restored", path, message });
    }
    for (const row of this.#table.all()) {
      const repair = this.#rewrite(storedDocument(row));
      if (repair !== undefined) repairs.push(repair);
    }
    return repairs;
  }

  #isBetter(file: StoredDocument, row: StoredDocument): boolean {
    if (file.serial !== row.serial) return file.serial > row.serial;
    return !this.#opens(row) && this.#opens(file);
  }

  #readFiles(): {
    readonly newest: ReadonlyMap<
      SourceName,
      { readonly path: string; readonly file: StoredDocument }
    >;
    readonly damaged: readonly DocumentRepair[];
  } {
    const { files, directory } = this.#options;
    const newest = new Map<SourceName, { path: string; file: StoredDocument }>();
    const damaged: DocumentRepair[] = [];
    for (const { name } of files.list(directory)) {
      if (!/^[^.].*\.(doc|prev)$/.test(name)) continue;
      const path = join(directory, name);
      const file = this.#read(path);
      if (typeof file === "string") {
        damaged.push({ type: "Damaged", path, message: file });
        continue;
      }
      const { source } = file.document;
      if (file.serial > (newest.get(source)?.file.serial ?? -1)) newest.set(source, { path, file });
    }
    return { newest, damaged };
  }

  /** The document, or why it cannot be read. */
  #read(path: string): StoredDocument | string {
    try {
      const file = decodeDocumentFile(this.#options.files.read(path, MAX_BYTES));
      return file ?? "the file is torn or was changed: its checksum does not match";
    } catch (error) {
      return messageOf(error);
    }
  }

  #rewrite(row: StoredDocument): DocumentRepair | undefined {
    const path = this.#path(row.document.source, "doc");
    try {
      const present = this.#options.files.info(path) === undefined ? "" : this.#read(path);
      if (typeof present !== "string" && isSameFile(present, row)) return undefined;
      // A file of it would hide from the next check that the row is damaged.
      if (!this.#opens(row)) return undefined;
      this.#writeFile(row, "doc");
      return { type: "Rewritten", path, message: "the file differed from the database" };
    } catch (error) {
      // The row is intact: a file that cannot be written must not prevent the start.
      return { type: "Damaged", path, message: messageOf(error) };
    }
  }
}

/** The plain payload of a stored document, or why it cannot be used. */
export function openDocument(
  document: Pick<AcceptedDocument, "source" | "epoch" | "generation" | "digest" | "payload">,
  secrets: Pick<SecretBox, "open"> | undefined,
): Opened {
  const { payload, digest } = document;
  const opened: Opened = isSealed(payload)
    ? (secrets?.open(payload, documentLabel(document)) ?? { ok: false, why: "there is no key" })
    : { ok: true, plain: payload };
  if (!opened.ok || digestOf(opened.plain, sha256) === digest) return opened;
  return { ok: false, why: "its content does not have its digest" };
}

/** Binds a sealed payload to its document: it cannot be opened under another label. */
export function documentLabel({
  source,
  epoch,
  generation,
  digest,
}: Pick<AcceptedDocument, "source" | "epoch" | "generation" | "digest">): string {
  return JSON.stringify(["document", source, epoch, generation, digest]);
}

/** `observedGeneration` is only in the row; it is kept if the row's document has the same epoch and is not newer. */
function withObserved(file: StoredDocument, known: AcceptedDocument | undefined): StoredDocument {
  const { document } = file;
  if (known?.epoch !== document.epoch || known.generation > document.generation) return file;
  const { observedGeneration } = known;
  return { ...file, document: { ...document, observedGeneration } };
}
