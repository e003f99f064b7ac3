// Performs: how far each pod of a document is in its update, and a whole copy of what was good before: a rollback needs
// no network.

import type { GoodCopy, PodOfSource, RolloutState } from "../../api/pod/rollout.ts";
import type { SourceName } from "../../api/pod/source-name.ts";
import type { Database, Query } from "../sqlite/database.ts";
import type { CopyRow, RolloutFile, RolloutRow } from "./rollout-file.ts";
import { readCopy, readState } from "./rollout-text.ts";
import type { SecretBox } from "../secret-box.ts";

export interface RolloutChange extends PodOfSource {
  readonly state: RolloutState;
  /** Belongs to `state.good`; absent = the copy that is there stays. */
  readonly copy?: GoodCopy;
}

export interface RolloutsOptions {
  readonly database: Database;
  readonly secrets: SecretBox;
  readonly file: RolloutFile;
  /** The database has just been made: an empty table is no fact. */
  readonly isNew: boolean;
}

export type FoundCopy =
  | { readonly type: "Found"; readonly copy: GoodCopy }
  /** `why` says nothing of the content. */
  | { readonly type: "Lost"; readonly why: string };

export class Rollouts {
  readonly #database: Database;
  readonly #secrets: SecretBox;
  readonly #upsert: Query<[string, string, string], unknown>;
  readonly #upsertCopy: Query<[string, string, string, Uint8Array], unknown>;
  readonly #copy: Query<[string, string, string], { readonly content: Uint8Array }>;
  readonly #delete: Query<[string, string], unknown>;
  readonly #deleteCopy: Query<[string, string], unknown>;
  readonly #allStates: Query<[], RolloutRow>;
  readonly #allCopies: Query<[], CopyRow>;
  readonly #file: RolloutFile;
  /** What the table says, so that asking costs nothing. */
  readonly #known = new Map<SourceName, Map<string, RolloutState>>();

  constructor({ database, secrets, file, isNew }: RolloutsOptions) {
    this.#database = database;
    this.#secrets = secrets;
    this.#file = file;
    this.#upsert = database.query(
      `INSERT INTO rollout (source, name, state) VALUES (?, ?, ?)
       ON CONFLICT (source, name) DO UPDATE SET state = excluded.state`,
    );
    this.#upsertCopy = database.query(
      `INSERT INTO good_copy (source, name, revision, content) VALUES (?, ?, ?, ?)
       ON CONFLICT (source, name) DO UPDATE SET revision = excluded.revision, content = excluded.content`,
    );
    this.#copy = database.query(
      "SELECT content FROM good_copy WHERE source = ? AND name = ? AND revision = ?",
    );
    this.#delete = database.query("DELETE FROM rollout WHERE source = ? AND name = ?");
    this.#deleteCopy = database.query("DELETE FROM good_copy WHERE source = ? AND name = ?");
    this.#allStates = database.query("SELECT source, name, state FROM rollout");
    this.#allCopies = database.query("SELECT source, name, revision, content FROM good_copy");
    if (isNew) this.#restore();
    for (const { source, name, state } of this.#allStates.all()) {
      const read = readState(state);
      if (read !== undefined) this.#of(source).set(name, read);
    }
  }

  /** By `namespace/name`. */
  of(source: SourceName): ReadonlyMap<string, RolloutState> {
    return this.#known.get(source) ?? new Map<string, RolloutState>();
  }

  /** What `state.good` of this pod is made of. */
  copy({ source, name }: PodOfSource): FoundCopy {
    const good = this.of(source).get(name)?.good;
    const row = good === undefined ? undefined : this.#copy.get(source, name, good.revision);
    if (good === undefined || row === undefined) return { type: "Lost", why: "there is none" };
    const opened = this.#secrets.open(
      new Uint8Array(row.content),
      labelOf({ source, name }, good.revision),
    );
    if (!opened.ok) return { type: "Lost", why: opened.why };
    const copy = readCopy(new TextDecoder().decode(opened.plain));
    return copy === undefined ? { type: "Lost", why: "it is damaged" } : { type: "Found", copy };
  }

  /**
   * All of them are on the disk when it returns, in one transaction, or none is and it throws. A good copy is sealed,
   * whether or not it holds a Secret; throws AgentError `SecretKeyUnavailable` if it cannot be.
   */
  save(changes: readonly RolloutChange[]): void {
    if (changes.length === 0) return;
    this.#database.transaction(() => {
      for (const { source, name, state, copy } of changes) {
        this.#upsert.run(source, name, JSON.stringify(state));
        if (state.good === undefined) this.#deleteCopy.run(source, name);
        else if (copy !== undefined) this.#writeCopy({ source, name }, state.good.revision, copy);
      }
    }, "full");
    for (const { source, name, state } of changes) this.#of(source).set(name, state);
    this.#mirror();
  }

  /** Pods that their document does not name any more and that are gone; nothing there = fine. */
  forget(pods: readonly PodOfSource[]): void {
    const known = pods.filter(({ source, name }) => this.of(source).has(name));
    if (known.length === 0) return;
    this.#database.transaction(() => {
      for (const { source, name } of known) {
        this.#delete.run(source, name);
        this.#deleteCopy.run(source, name);
      }
    });
    for (const { source, name } of known) this.#of(source).delete(name);
    this.#mirror();
  }

  #mirror(): void {
    this.#file.write({ states: this.#allStates.all(), copies: this.#allCopies.all() });
  }

  /** The database was lost: what the file says is the newest that is known. */
  #restore(): void {
    const rows = this.#file.read();
    if (rows === undefined) return;
    this.#database.transaction(() => {
      for (const { source, name, state } of rows.states) this.#upsert.run(source, name, state);
      for (const { source, name, revision, content } of rows.copies)
        this.#upsertCopy.run(source, name, revision, content);
    }, "full");
  }

  #writeCopy(pod: PodOfSource, revision: string, copy: GoodCopy): void {
    const plain = new TextEncoder().encode(JSON.stringify(copy));
    const sealed = this.#secrets.seal(plain, labelOf(pod, revision));
    this.#upsertCopy.run(pod.source, pod.name, revision, sealed);
  }

  #of(source: SourceName): Map<string, RolloutState> {
    const known = this.#known.get(source) ?? new Map<string, RolloutState>();
    this.#known.set(source, known);
    return known;
  }
}

/** A sealed copy opens nowhere else. */
function labelOf({ source, name }: PodOfSource, revision: string): string {
  return JSON.stringify(["good_copy", source, name, revision]);
}
