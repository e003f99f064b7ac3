// What the objects of a simulated world say in truth, and may have said to whoever read them.

import {
  edited,
  kindOf,
  type EditedKeys,
  type ObjectName,
  type SimContent,
} from "./sim-objects.ts";

export type Reader = "file" | "mqtt";

/** `Unclear`: nobody can say what counts, such as of a file that somebody has emptied by mistake. */
export type Word = SimContent | "Absent" | "Unclear";

export interface TruthOptions {
  readonly files: () => ReadonlyMap<ObjectName, SimContent>;
  /** Objects of files that nobody can read clearly. */
  readonly unclear: () => ReadonlySet<ObjectName>;
  readonly documents: () => ReadonlyMap<ObjectName, SimContent>;
  /** Pods of signed documents may read Secrets of files too. */
  readonly signed: boolean;
  /** Pods of files have data under this name of a claim. */
  readonly isKept: (name: ObjectName) => boolean;
}

export class ObjectTruth {
  readonly #options: TruthOptions;
  readonly #ever = new Map<ObjectName, SimContent[]>();
  #revision = 0;

  constructor(options: TruthOptions) {
    this.#options = options;
  }

  /** Everything that anybody has ever written under this name. */
  ever(name: ObjectName): readonly SimContent[] {
    return this.#ever.get(name) ?? [];
  }

  /** New content, that somebody is about to write. */
  edit(name: ObjectName, before: SimContent | undefined, keys: EditedKeys): SimContent {
    this.#revision += 1;
    const content = edited(name, before, { keys, revision: this.#revision });
    this.#ever.set(name, [...this.ever(name), content]);
    return content;
  }

  /** What pods of this reader's source find: files win, keep Secrets and claims from others, and use nothing else. */
  word(name: ObjectName, reader: Reader): Word {
    const { files, unclear, documents, signed, isKept } = this.#options;
    if (unclear().has(name)) return "Unclear";
    const own = files().get(name);
    if (reader === "file") return own ?? "Absent";
    const mayRead = kindOf(name) === "ConfigMap" || (signed && kindOf(name) === "Secret");
    if (own !== undefined) return mayRead ? own : "Absent";
    // What is kept for files is not for unsigned documents when the file is gone either.
    if (kindOf(name) === "PersistentVolumeClaim" && !signed && isKept(name)) return "Absent";
    return documents().get(name) ?? "Absent";
  }

  /** undefined = it is not there, or nobody knows. */
  content(name: ObjectName, reader: Reader): SimContent | undefined {
    const word = this.word(name, reader);
    return typeof word === "string" ? undefined : word;
  }

  /** Where an edit reaches pods of this reader's source. */
  originOf(name: ObjectName, reader: Reader): Reader | undefined {
    const { files, documents } = this.#options;
    if (this.content(name, reader) === undefined) return undefined;
    if (files().has(name)) return "file";
    return documents().has(name) ? "mqtt" : undefined;
  }
}
