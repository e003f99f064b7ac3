// Performs: stores the last valid version of every object in a manifest file; Secrets are sealed.

import type {
  KeptKind,
  LastGood,
  LastGoodChanges,
  LastGoodCopies,
  LastGoodKey,
  LostGood,
} from "../api/pod/last-good.ts";
import { isRunKind, type RunKind } from "../api/workload/workload-kinds.ts";
import type { Database } from "./sqlite/database.ts";
import { Table } from "./sqlite/table.ts";
import type { SecretBox } from "./seal-secrets.ts";

type PodRow = Omit<LastGood, "kind">;

interface ObjectRow extends Omit<LastGood, "kind" | "text"> {
  readonly kind: string;
  readonly text: Uint8Array;
}

export class LastGoodManifests {
  readonly #database: Database;
  readonly #secrets: SecretBox;
  readonly #pods: Table<PodRow, "path" | "namespace" | "name">;
  readonly #objects: Table<ObjectRow, "path" | "kind" | "namespace" | "name">;

  constructor(database: Database, secrets: SecretBox) {
    this.#database = database;
    this.#secrets = secrets;
    const values = ["document", "text"] as const;
    const podKey = ["path", "namespace", "name"] as const;
    this.#pods = new Table(database, "last_good", { key: podKey, values });
    const objectKey = ["path", "kind", "namespace", "name"] as const;
    this.#objects = new Table(database, "last_good_object", { key: objectKey, values });
  }

  /** Pods first. */
  load(): LastGoodCopies {
    const copies: LastGood[] = this.#pods.all().map((row) => ({ ...row, kind: "Pod" }));
    const lost: LostGood[] = [];
    for (const row of this.#objects.all()) {
      // Kinds of a newer agent are ignored.
      if (!isObjectKind(row.kind)) continue;
      const { path, document, namespace, name } = row;
      const at = { path, kind: row.kind, namespace, name, document };
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
      for (const key of removed)
        if (key.kind === "Pod") this.#pods.remove(key);
        else this.#objects.remove(key);
      for (const row of put) this.#put(row);
    });
  }

  #put(row: LastGood): void {
    const { kind, document, text } = row;
    if (kind === "Pod") {
      this.#pods.put(row);
      return;
    }
    const known = this.#objects.get(row);
    // Sealing the same text twice gives different bytes, so the plain texts are compared.
    if (known?.document === document && this.#open(known, row) === text) return;
    const plain = new TextEncoder().encode(text);
    const kept = kind === "Secret" ? this.#secrets.seal(plain, lastGoodLabel(row)) : plain;
    this.#objects.put({ ...row, text: kept });
  }

  /** The text, or why it cannot be read. */
  #open(row: ObjectRow, key: LastGoodKey): string | { readonly why: string } {
    const bytes = new Uint8Array(row.text);
    if (key.kind !== "Secret") return new TextDecoder().decode(bytes);
    const opened = this.#secrets.open(bytes, lastGoodLabel(key));
    return opened.ok ? new TextDecoder().decode(opened.plain) : { why: opened.why };
  }
}

/** Binds a sealed row to its key: it cannot be opened under another label. */
export function lastGoodLabel({
  path,
  kind,
  namespace,
  name,
}: Readonly<Record<"path" | "kind" | "namespace" | "name", string>>): string {
  return JSON.stringify(["last_good_object", path, kind, namespace, name]);
}

const OTHER_KINDS: ReadonlySet<string> = new Set<Exclude<KeptKind, "Pod" | RunKind>>([
  "ConfigMap",
  "Secret",
  "PersistentVolumeClaim",
  "Service",
]);

function isObjectKind(kind: string): kind is Exclude<KeptKind, "Pod"> {
  return isRunKind(kind) || OTHER_KINDS.has(kind);
}
