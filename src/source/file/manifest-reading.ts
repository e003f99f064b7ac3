// The outcome of reading one manifest file. Pure.

import type { DecodedManifest } from "../../api/decode/decode-manifest.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { Look } from "./manifest-settle.ts";
import { compareText } from "../../lib/compare.ts";

export type Reading =
  | { readonly type: "Decoded"; readonly digest: string; readonly manifest: DecodedManifest }
  /** Not readable as a manifest at all; `mayHoldPods` is false for what never was a file. */
  | { readonly type: "Refused"; readonly rejection: Rejection; readonly mayHoldPods: boolean };

export interface ManifestFile {
  readonly path: string;
  readonly look: Look;
  readonly reading: Reading;
}

/** sha256 of the content; empty if it is no manifest at all. */
export function digestOf({ reading }: ManifestFile): string {
  return reading.type === "Decoded" ? reading.digest : "";
}

export function byPath(a: ManifestFile, b: ManifestFile): number {
  return compareText(a.path, b.path);
}
