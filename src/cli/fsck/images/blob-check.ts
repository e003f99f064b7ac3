// Performs: compares blobs of containerd's content store with their digests, each once, whatever number of images has it.

import { lstatSync, readFileSync } from "node:fs";
import { blobPath } from "../../../containerd/content-lookup.ts";
import { digestFile } from "../../../host/tree/digest-file.ts";
import { errorCode, messageOf } from "../../../lib/errors.ts";
import { grouped } from "../../../lib/short-text.ts";
import { sha256 } from "../../../lib/system-sha256.ts";
import { MAX_DOCUMENT } from "../../../image/archive/archive-documents.ts";

export interface Blob {
  /** `sha256:<hex>` */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

export type BlobState =
  | { readonly type: "Whole" }
  | { readonly type: "Missing" }
  | { readonly type: "Damaged"; readonly why: string }
  | { readonly type: "Unreadable"; readonly why: string };

export interface BlobCheckOptions {
  /** Of containerd. */
  readonly root: string;
  /** Only the size is compared, which costs no read of the content. */
  readonly isLight: boolean;
}

export class BlobCheck {
  readonly #options: BlobCheckOptions;
  readonly #states = new Map<string, BlobState>();
  /** Bytes that were compared with their digests. */
  bytes = 0;

  constructor(options: BlobCheckOptions) {
    this.#options = options;
  }

  /** How many blobs were looked at. */
  get count(): number {
    return this.#states.size;
  }

  pathOf(digest: string): string {
    return blobPath(this.#options.root, digest) ?? digest;
  }

  async state(blob: Blob, signal: AbortSignal): Promise<BlobState> {
    const known = this.#states.get(blob.digest);
    if (known !== undefined) return known;
    const state = await this.#look(blob, signal);
    this.#states.set(blob.digest, state);
    return state;
  }

  /** A manifest or an index, which is small and always compared; undefined = it is not whole. */
  async document(blob: Blob, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const state = await this.state(blob, signal);
    if (state.type !== "Whole" || blob.size > MAX_DOCUMENT) return undefined;
    try {
      const bytes = readFileSync(this.pathOf(blob.digest));
      if (`sha256:${sha256(bytes)}` === blob.digest) return bytes;
    } catch {
      // Reported below: it was there a moment ago.
    }
    this.#states.set(blob.digest, { type: "Damaged", why: "its content does not have its digest" });
    return undefined;
  }

  async #look({ digest, size }: Blob, signal: AbortSignal): Promise<BlobState> {
    const { root, isLight } = this.#options;
    const path = blobPath(root, digest);
    if (path === undefined)
      return { type: "Unreadable", why: `${digest} is of a kind that is not checked` };
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return { type: "Missing" };
    if (!found.isFile()) return { type: "Damaged", why: "it is not a regular file" };
    if (found.size !== size)
      return {
        type: "Damaged",
        why: `it has ${grouped(found.size)} bytes instead of ${grouped(size)}`,
      };
    if (isLight) return { type: "Whole" };
    try {
      const onBytes = (bytes: number): void => void (this.bytes += bytes);
      const read = await digestFile(path, { signal, onBytes });
      if (`sha256:${read.sha256}` === digest) return { type: "Whole" };
      return { type: "Damaged", why: "its content does not have its digest" };
    } catch (error) {
      signal.throwIfAborted();
      // A card that cannot read a block any more.
      if (errorCode(error) === "EIO")
        return { type: "Damaged", why: "the disk cannot read it (EIO)" };
      return { type: "Unreadable", why: messageOf(error) };
    }
  }
}
