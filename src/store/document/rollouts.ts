// Performs: stores the update state of each pod of a document, and a complete copy of its last good revision: a
// rollback needs no network.

import type { GoodCopy, PodOfSource, RolloutState } from "../../api/pod/rollout.ts";
import type { Database } from "../sqlite/database.ts";
import { Table } from "../sqlite/table.ts";
import {
  readGoodCopy,
  readRolloutRows,
  readRolloutState,
  writeRolloutRows,
  type CopyRow,
  type RolloutRow,
  type RolloutRows,
} from "../checkpoint-schemas.ts";
import { checkedContent, textOf, withChecksum } from "../checked-file.ts";
import type { SecretBox } from "../seal-secrets.ts";
import type { PlainFiles } from "../../lib/files/plain-files.ts";
import type { SourceName } from "../../api/pod/labels.ts";

interface RolloutChange extends PodOfSource {
  readonly state: RolloutState;
  /** Belongs to `state.good`; absent = the stored copy stays. */
  readonly copy?: GoodCopy;
}

export const ROLLOUTS_MAGIC = "agent-rollouts";
/** Far more than all documents of a node together. */
const MAX_BYTES = 64 * 1024 * 1024;

interface RolloutsOptions {
  readonly database: Database;
  readonly secrets: SecretBox;
  readonly files: PlainFiles;
  /**
   * A copy of the rows that can be read without the database: a node that lost its database must not try again what it
   * has rolled back.
   */
  readonly path: string;
  /** The database was just created: its rows are restored from the file. */
  readonly isNew: boolean;
}

type FoundCopy =
  | { readonly type: "Found"; readonly copy: GoodCopy }
  /** `why` reveals nothing of the content. */
  | { readonly type: "Lost"; readonly why: string };

export class Rollouts {
  readonly #database: Database;
  readonly #secrets: SecretBox;
  readonly #states: Table<RolloutRow, "source" | "name">;
  readonly #copies: Table<CopyRow, "source" | "name">;
  readonly #files: PlainFiles;
  readonly #path: string;
  /** The table in memory: reads cost no query. */
  readonly #known = new Map<SourceName, Map<string, RolloutState>>();

  constructor({ database, secrets, files, path, isNew }: RolloutsOptions) {
    this.#database = database;
    this.#secrets = secrets;
    this.#files = files;
    this.#path = path;
    const key = ["source", "name"] as const;
    this.#states = new Table(database, "rollout", { key, values: ["state"] });
    this.#copies = new Table(database, "good_copy", { key, values: ["revision", "content"] });
    if (isNew) this.#restore();
    for (const { source, name, state } of this.#states.all()) {
      const read = readRolloutState(state);
      if (read !== undefined) this.#of(source).set(name, read);
    }
  }

  /** By `namespace/name`. */
  of(source: SourceName): ReadonlyMap<string, RolloutState> {
    return this.#known.get(source) ?? new Map<string, RolloutState>();
  }

  /** The copy of this pod's `state.good`. */
  copy(pod: PodOfSource): FoundCopy {
    const good = this.of(pod.source).get(pod.name)?.good;
    const row = this.#copies.get(pod);
    if (good === undefined || row?.revision !== good.revision)
      return { type: "Lost", why: "there is none" };
    const opened = this.#secrets.open(new Uint8Array(row.content), copyLabel(row));
    if (!opened.ok) return { type: "Lost", why: opened.why };
    const copy = readGoodCopy(new TextDecoder().decode(opened.plain));
    return copy === undefined ? { type: "Lost", why: "it is damaged" } : { type: "Found", copy };
  }

  /**
   * All changes are on the disk when it returns, in one transaction, or none is and it throws. A copy is always sealed,
   * with or without a Secret in it; throws AgentError `SecretKeyUnavailable` if it cannot be.
   */
  save(changes: readonly RolloutChange[]): void {
    if (changes.length === 0) return;
    this.#database.transaction(() => {
      for (const { source, name, state, copy } of changes) {
        this.#states.put({ source, name, state: JSON.stringify(state) });
        if (state.good === undefined) this.#copies.remove({ source, name });
        else if (copy !== undefined) {
          const key = { source, name, revision: state.good.revision };
          const plain = new TextEncoder().encode(JSON.stringify(copy));
          this.#copies.put({ ...key, content: this.#secrets.seal(plain, copyLabel(key)) });
        }
      }
    }, "full");
    for (const { source, name, state } of changes) this.#of(source).set(name, state);
    this.#mirror();
  }

  /** For pods that are gone and no longer in their document. Unknown pods are ignored. */
  forget(pods: readonly PodOfSource[]): void {
    const known = pods.filter(({ source, name }) => this.of(source).has(name));
    if (known.length === 0) return;
    this.#database.transaction(() => {
      for (const { source, name } of known) {
        this.#states.remove({ source, name });
        this.#copies.remove({ source, name });
      }
    });
    for (const { source, name } of known) this.#of(source).delete(name);
    this.#mirror();
  }

  /** Best effort: the rows are in the database, and the next change writes the file again. */
  #mirror(): void {
    const rows = { states: this.#states.all(), copies: this.#copies.all() };
    const text = `${JSON.stringify(writeRolloutRows(rows))}\n`;
    try {
      if (rows.states.length === 0) this.#files.remove(this.#path);
      else this.#files.writeAtomic(this.#path, withChecksum(ROLLOUTS_MAGIC, text), 0o600);
    } catch {
      // Mostly a full disk, which the write of the rows reports.
    }
  }

  /** undefined = there is no file, or it is damaged. */
  #readFile(): RolloutRows | undefined {
    try {
      if (this.#files.info(this.#path) === undefined) return undefined;
      const content = checkedContent(ROLLOUTS_MAGIC, this.#files.read(this.#path, MAX_BYTES));
      return content && readRolloutRows(textOf(content));
    } catch {
      // An unreadable file counts as absent: the last good revisions are unknown then.
      return undefined;
    }
  }

  /** After a lost database: takes the rows of the file. */
  #restore(): void {
    const rows = this.#readFile();
    if (rows === undefined) return;
    this.#database.transaction(() => {
      for (const row of rows.states) this.#states.put(row);
      for (const row of rows.copies) this.#copies.put(row);
    }, "full");
  }

  #of(source: SourceName): Map<string, RolloutState> {
    const known = this.#known.get(source) ?? new Map<string, RolloutState>();
    this.#known.set(source, known);
    return known;
  }
}

/** Binds a sealed copy to its pod and revision: it cannot be opened under another label. */
export function copyLabel({ source, name, revision }: Omit<CopyRow, "content">): string {
  return JSON.stringify(["good_copy", source, name, revision]);
}
