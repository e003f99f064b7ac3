// Performs: stores what the secured API needs in one file, so that keys, certificates and users always fit together.

import { join } from "node:path";
import type { Files } from "../../host/files.ts";
import type { Logger } from "../../lib/logger.ts";
import { checkedContent, withChecksum } from "../../store/checked-file.ts";
import { readPki, writePki, type PkiState } from "./pki-state.ts";

export const PKI_MAGIC = "agent-pki";
const MODE = 0o600;
const DIRECTORY_MODE = 0o700;
/** Larger than any state within its limits. */
const MAX_BYTES = 4 * 1024 * 1024;

export class PkiFile {
  readonly path: string;
  readonly #files: Files;
  readonly #log: Logger;
  readonly #directory: string;

  constructor(stateDir: string, { files, log }: { readonly files: Files; readonly log: Logger }) {
    this.#directory = join(stateDir, "pki");
    this.path = join(this.#directory, "pki.json");
    this.#files = files;
    this.#log = log;
  }

  get exists(): boolean {
    return this.#files.info(this.path) !== undefined;
  }

  /**
   * undefined = there is none. A damaged file is moved aside, and nothing in it counts any longer: a new authority means
   * that no user is left whose credential was revoked. Throws if the file cannot be read.
   */
  read(): PkiState | undefined {
    if (!this.exists) return undefined;
    const content = checkedContent(PKI_MAGIC, this.#files.read(this.path, MAX_BYTES));
    const state = content === undefined ? undefined : readPki(content);
    if (state !== undefined) return state;
    const aside = `${this.path}.damaged`;
    this.#files.renameDurably(this.path, aside);
    this.#log.error(
      "the users of the API are lost, because their file was damaged; make new kubeconfigs with agent kubeconfig",
      { movedTo: aside },
    );
    return undefined;
  }

  /** On the disk when it returns, otherwise it throws. */
  write(state: PkiState): void {
    this.#files.makeDirectory(this.#directory, DIRECTORY_MODE);
    this.#files.writeAtomic(this.path, withChecksum(PKI_MAGIC, writePki(state)), MODE);
  }
}
