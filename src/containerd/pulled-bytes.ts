// How much of an image has arrived, from what containerd's content store holds and what it is writing.

import { isJsonObject, memberOf, parseJson } from "../lib/json.ts";

/** A blob that is being written. */
export interface Ingest {
  /** Of the blob; undefined = unknown. */
  readonly digest: string | undefined;
  readonly ref: string;
  readonly offset: number;
  /** Wall ms of its last byte, by the clock of the runtime: only compared with others. */
  readonly updatedAt: number;
}

/** The layers and the configuration of an image for one platform: digest → bytes. */
export type ImageParts = ReadonlyMap<string, number>;

export interface PulledBytes {
  /** undefined = not known which bytes belong to the image yet. */
  readonly bytes: { readonly done: number; readonly total: number } | undefined;
  /** Differs whenever a byte has arrived that may belong to the image. */
  readonly mark: string;
}

/** `layer-sha256:…`, as containerd names what it writes. */
export function digestOfRef(ref: string): string | undefined {
  return /(?:^|-)(sha(?:256|384|512):[0-9a-f]{64,128})$/.exec(ref)?.[1];
}

/** undefined = not the manifest of one platform. */
export function partsOf(manifest: Uint8Array): ImageParts | undefined {
  const read = parseJson(manifest);
  const layers: unknown = memberOf(read, "layers");
  if (!Array.isArray(layers)) return undefined;
  const all: readonly unknown[] = layers;
  const parts = new Map<string, number>();
  for (const part of [memberOf(read, "config"), ...all]) {
    const { digest, size } = isJsonObject(part) ? part : {};
    if (typeof digest !== "string" || typeof size !== "number" || !(size >= 0)) return undefined;
    parts.set(digest, size);
  }
  return parts;
}

/** Which of these images is being written: the one with the newest byte; undefined = none. */
export function imageBeingWritten(
  images: readonly ImageParts[],
  ingests: readonly Ingest[],
): ImageParts | undefined {
  let newest: { readonly parts: ImageParts; readonly at: number } | undefined;
  for (const parts of images) {
    const own = ingests.filter(({ digest }) => digest !== undefined && parts.has(digest));
    const at = Math.max(...own.map(({ updatedAt }) => updatedAt));
    if (own.length > 0 && (newest === undefined || at > newest.at)) newest = { parts, at };
  }
  return newest?.parts;
}

/** `done`: digests of the parts that are here. */
export function pulledBytes(
  parts: ImageParts | undefined,
  ingests: readonly Ingest[],
  done: ReadonlySet<string>,
): PulledBytes {
  const all = ingests.map(({ ref, offset }) => `${ref} ${offset}`);
  if (parts === undefined) return { bytes: undefined, mark: all.toSorted().join() };
  const offsets = new Map(ingests.map(({ digest, offset }) => [digest, offset]));
  let [arrived, total] = [0, 0];
  for (const [digest, size] of parts) {
    total += size;
    arrived += done.has(digest) ? size : Math.min(size, offsets.get(digest) ?? 0);
  }
  return { bytes: { done: arrived, total }, mark: String(arrived) };
}
