// Performs: stores the last valid version of every object in a manifest file; Secrets are sealed.

import type {
  LastGood,
  LastGoodChanges,
  LastGoodCopies,
  LastGoodKey,
  LastGoodStore,
  LostGood,
} from "../api/pod/last-good.ts";
import type { LocalObjectKind } from "../api/v1/object/local-object.ts";
import type { Database, Query } from "./sqlite/database.ts";
import type { SecretBox } from "./secret-box.ts";

interface ObjectRow extends Omit<LastGood, "kind" | "text"> {
  readonly kind: string;
  readonly text: Uint8Array;
}

const POD_COLUMNS = "path, document, 'Pod' AS kind, namespace, name, text";
const OBJECT_KEYS = ["path", "kind", "namespace", "name"] as const;
const OBJECT_KEY = OBJECT_KEYS.map((column) => `${column} = ?`).join(" AND ");

export class LastGoodManifests implements LastGoodStore {
  readonly #database: Database;
  readonly #secrets: SecretBox;
  readonly #pods: Query<[], LastGood>;
  readonly #objects: Query<[], ObjectRow>;
  readonly #object: Query<[string, string, string, string], ObjectRow>;
  readonly #putPod: Query<[string, number, string, string, string], unknown>;
  readonly #putObject: (row: ObjectRow) => void;
  readonly #deletePod: Query<[string, string, string], unknown>;
  readonly #deleteObject: Query<[string, string, string, string], unknown>;

  constructor(database: Database, secrets: SecretBox) {
    this.#database = database;
    this.#secrets = secrets;
    this.#pods = database.query(
      `SELECT ${POD_COLUMNS} FROM last_good ORDER BY path, document, namespace, name`,
    );
    this.#objects = database.query(
      "SELECT * FROM last_good_object ORDER BY path, document, kind, namespace, name",
    );
    this.#object = database.query(`SELECT * FROM last_good_object WHERE ${OBJECT_KEY}`);
    this.#putPod = database.query(
      `INSERT INTO last_good (path, document, namespace, name, text) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (path, namespace, name) DO UPDATE SET document = excluded.document, text = excluded.text
       WHERE document <> excluded.document OR text <> excluded.text`,
    );
    const values = ["document", "text"] as const;
    this.#putObject = database.upsert<ObjectRow>("last_good_object", { key: OBJECT_KEYS, values });
    this.#deletePod = database.query(
      "DELETE FROM last_good WHERE path = ? AND namespace = ? AND name = ?",
    );
    this.#deleteObject = database.query(`DELETE FROM last_good_object WHERE ${OBJECT_KEY}`);
  }

  /** Pods first; each by path, then by place in the file. */
  load(): LastGoodCopies {
    const copies: LastGood[] = [...this.#pods.all()];
    const lost: LostGood[] = [];
    for (const row of this.#objects.all()) {
      // Kinds of a newer agent are ignored.
      if (!isObjectKind(row.kind)) continue;
      const { path, kind, namespace, name, document } = { ...row, kind: row.kind };
      const at = { path, kind, namespace, name, document };
      const opened = this.#open(row, at);
      if (typeof opened === "string") copies.push({ ...at, text: opened });
      else lost.push({ ...at, ...opened });
    }
    return { copies, lost };
  }

  /** One transaction; unchanged rows are not written. Throws `SecretKeyUnavailable` if a Secret cannot be sealed. */
  save({ put, removed }: LastGoodChanges): void {
    if (put.length === 0 && removed.length === 0) return;
    this.#database.transaction(() => {
      for (const { path, kind, namespace, name } of removed)
        if (kind === "Pod") this.#deletePod.run(path, namespace, name);
        else this.#deleteObject.run(path, kind, namespace, name);
      for (const row of put) this.#put(row);
    });
  }

  #put(row: LastGood): void {
    const { path, kind, document, namespace, name, text } = row;
    if (kind === "Pod") {
      this.#putPod.run(path, document, namespace, name, text);
      return;
    }
    const known = this.#object.get(path, kind, namespace, name);
    // Sealing the same text twice gives different bytes, so the plain texts are compared.
    if (known?.document === document && this.#open(known, row) === text) return;
    const plain = new TextEncoder().encode(text);
    const kept = kind === "Secret" ? this.#secrets.seal(plain, labelOf(row)) : plain;
    this.#putObject({ path, kind, namespace, name, document, text: kept });
  }

  /** The text, or why it cannot be read. */
  #open(row: ObjectRow, key: LastGoodKey): string | { readonly why: string } {
    const bytes = new Uint8Array(row.text);
    if (key.kind !== "Secret") return new TextDecoder().decode(bytes);
    const opened = this.#secrets.open(bytes, labelOf(key));
    return opened.ok ? new TextDecoder().decode(opened.plain) : { why: opened.why };
  }
}

/** Binds a sealed row to its key: it cannot be opened under another label. */
function labelOf({ path, kind, namespace, name }: LastGoodKey): string {
  return JSON.stringify(["last_good_object", path, kind, namespace, name]);
}

function isObjectKind(kind: string): kind is LocalObjectKind {
  return kind === "ConfigMap" || kind === "Secret" || kind === "PersistentVolumeClaim";
}
