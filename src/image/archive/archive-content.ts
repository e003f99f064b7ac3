// What an archive contains: its documents, and the blobs that containerd has received, by their paths.

import type { TargetDescriptor } from "../../containerd/archive/image-store.ts";
import { invalidArchive } from "./archive-error.ts";
import { followLinks } from "./archive-paths.ts";
import { shown } from "./tar-header.ts";

export interface StoredBlob {
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  /** The first bytes. */
  readonly head: Uint8Array;
}

export interface ArchiveContent {
  /** `index.json`, `manifest.json`, `oci-layout`. */
  readonly documents: ReadonlyMap<string, Uint8Array>;
  readonly blobs: ReadonlyMap<string, StoredBlob>;
  /** Where links lead. */
  readonly links: ReadonlyMap<string, string>;
}

/** Images to be named, and the blobs that each blob keeps, by the names of their relation. */
export interface ArchivePlan {
  readonly images: readonly ArchivedImage[];
  readonly references: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

export interface ArchivedImage {
  /** Full names, the tags first. */
  readonly names: readonly string[];
  readonly target: TargetDescriptor;
}

/** Throws AgentError `InvalidImageArchive`. */
export function blobAt(content: ArchiveContent, path: string): StoredBlob {
  const blob = content.blobs.get(followLinks(path, content.links));
  if (blob === undefined) throw invalidArchive(`${shown(path)} is missing: copy or save it again`);
  return blob;
}

/** Throws AgentError `InvalidImageArchive` unless the archive has it, in this size. */
export function blobOf(
  content: ArchiveContent,
  { digest, size }: { readonly digest: string; readonly size: number },
): StoredBlob {
  const blob = blobAt(content, `blobs/${digest.replace(":", "/")}`);
  if (blob.size !== size)
    throw invalidArchive(`the blob ${digest} has ${blob.size} bytes where ${size} are declared`);
  return blob;
}

export type Compression = "gzip" | "zstd";

/** By the first bytes; undefined = none that is known. */
export function compressionOf([a, b, c, d]: Uint8Array): Compression | undefined {
  if (a === 0x1f && b === 0x8b) return "gzip";
  return a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd ? "zstd" : undefined;
}
