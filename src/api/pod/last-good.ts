// The last valid version of each object of a manifest file, which keeps running while the file is invalid
// (typo-stops-nothing).

import type { ManifestKind } from "../decode/manifest-kinds.ts";

/** What files declare and the node keeps. */
export type KeptKind = ManifestKind | "Service";

/** Where an object of a manifest file is kept. */
export interface LastGoodKey {
  /** Absolute path of the manifest file. */
  readonly path: string;
  readonly kind: KeptKind;
  readonly namespace: string;
  readonly name: string;
}

/** One object that was valid the last time it was read. */
export interface LastGood extends LastGoodKey {
  /** Index of the document in the file, 0 = first. */
  readonly document: number;
  /** JSON of the object as written. Of a Secret: nothing for a log. */
  readonly text: string;
}

/** A copy that is there and cannot be read any more, such as a Secret whose key is lost. */
export interface LostGood extends LastGoodKey {
  readonly document: number;
  /** A sentence without the content. */
  readonly why: string;
}

export interface LastGoodCopies {
  readonly copies: readonly LastGood[];
  readonly lost: readonly LostGood[];
}

/** Applied in one transaction; `put` replaces a row of the same key. */
export interface LastGoodChanges {
  readonly put: readonly LastGood[];
  readonly removed: readonly LastGoodKey[];
}
