// The last valid version of each object from a manifest file: what keeps running while its file is broken (law 10).

/** One object that was valid the last time it was read. Unique by (path, namespace, name). */
export interface LastGood {
  /** Absolute path of the manifest file. */
  readonly path: string;
  /** Index of the document in the file, 0 = first. */
  readonly document: number;
  readonly namespace: string;
  readonly name: string;
  /** JSON of the object as written. */
  readonly text: string;
}

export type LastGoodKey = Pick<LastGood, "path" | "namespace" | "name">;

/** Applied in one transaction; `put` replaces a row of the same key. */
export interface LastGoodChanges {
  readonly put: readonly LastGood[];
  readonly removed: readonly LastGoodKey[];
}

/** The checkpoint of manifest files. Called only when something changed. */
export interface LastGoodStore {
  load(): readonly LastGood[];
  save(changes: LastGoodChanges): void;
}
