// Performs: writes images of containerd as one archive that is an OCI layout and a docker-archive, as a stream.

import type { ImageStore, TargetDescriptor } from "../../containerd/archive/image-store.ts";
import { AgentError } from "../../lib/errors.ts";
import { normalizedName, parseImageReference } from "../image-reference.ts";
import {
  isIndex,
  isManifest,
  MAX_DOCUMENT,
  readConfig,
  readIndex,
  readManifest,
  type Descriptor,
} from "./archive-documents.ts";
import { platformRank } from "./image-platform.ts";
import { MAX_DEPTH } from "./oci-layout.ts";
import { endOfArchive, fileHeader, padding } from "./tar-writer.ts";

export interface ExportOptions {
  readonly store: Pick<ImageStore, "target" | "content">;
  /** As a person writes them. */
  readonly names: readonly string[];
  /** This node's, as Kubernetes names it. */
  readonly architecture: string;
  readonly signal: AbortSignal;
}

/** An image that can be written. */
interface Exported {
  /** Full. */
  readonly name: string;
  readonly target: TargetDescriptor;
  /** All that is written of it; those of other platforms are not on the node. */
  readonly blobs: readonly Pick<Descriptor, "digest" | "size">[];
  readonly config: string;
  readonly layers: readonly string[];
}

/** Rejects with AgentError `ImageNotFound`, `ImageIncomplete` or `InvalidImageName`, or with CriError. */
export async function* exportArchive(options: ExportOptions): AsyncGenerator<Uint8Array, void> {
  const images: Exported[] = [];
  for (const name of options.names) images.push(await find(name, options));
  yield* textFile("oci-layout", { imageLayoutVersion: "1.0.0" });
  const blobs = new Map(images.flatMap((image) => image.blobs).map((blob) => [blob.digest, blob]));
  for (const blob of blobs.values()) yield* blobFile(blob, options);
  yield* textFile("index.json", { schemaVersion: 2, manifests: images.map(indexEntry) });
  yield* textFile("manifest.json", images.map(dockerEntry));
  yield endOfArchive();
}

async function find(written: string, options: ExportOptions): Promise<Exported> {
  const name = normalizedName(parseImageReference(written));
  const target = await options.store.target(name, options.signal);
  if (target === undefined)
    throw new AgentError({
      reason: "ImageNotFound",
      message: `image ${name} is not on this node; agent images ls lists those that are`,
    });
  const found = await resolve(target, options, 0);
  if (found === undefined)
    throw new AgentError({
      reason: "ImageIncomplete",
      message: `image ${name} has nothing for linux/${options.architecture}`,
    });
  return { name, target, ...found };
}

type Parts = Omit<Exported, "name" | "target">;

/** undefined = it is for another platform. */
async function resolve(
  blob: Pick<Descriptor, "mediaType" | "digest" | "size">,
  options: ExportOptions,
  depth: number,
): Promise<Parts | undefined> {
  const bytes = await readAll(blob, options);
  const what = `blob ${blob.digest}`;
  if (isManifest(blob)) {
    const { config, layers } = readManifest(bytes, what);
    const { platform } = readConfig(await readAll(config, options), `config ${config.digest}`);
    if (platformRank(platform, options.architecture) === undefined) return undefined;
    return {
      blobs: [...layers, config, blob],
      config: pathOf(config),
      layers: layers.map(pathOf),
    };
  }
  if (!isIndex(blob) || depth > MAX_DEPTH) return undefined;
  const rank = ({ platform }: Descriptor): number | undefined =>
    platform === undefined ? Infinity : platformRank(platform, options.architecture);
  const items = readIndex(bytes, what).filter((item) => rank(item) !== undefined);
  for (const item of items.toSorted((a, b) => (rank(a) ?? 0) - (rank(b) ?? 0))) {
    const found = await resolve(item, options, depth + 1);
    if (found !== undefined) return { ...found, blobs: [...found.blobs, blob] };
  }
  return undefined;
}

async function readAll(
  blob: Pick<Descriptor, "digest" | "size">,
  { store, signal }: ExportOptions,
): Promise<Uint8Array> {
  if (blob.size > MAX_DOCUMENT) throw incomplete(blob.digest, "it is too large for a document");
  const parts: Uint8Array[] = [];
  for await (const part of store.content(blob, signal)) parts.push(new Uint8Array(part));
  const all = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}

async function* blobFile(
  blob: Pick<Descriptor, "digest" | "size">,
  { store, signal }: ExportOptions,
): AsyncGenerator<Uint8Array, void> {
  yield fileHeader(pathOf(blob), blob.size);
  let size = 0;
  for await (const part of store.content(blob, signal)) {
    size += part.length;
    yield part;
  }
  if (size !== blob.size) throw incomplete(blob.digest, `${size} of ${blob.size} bytes`);
  yield padding(size);
}

function* textFile(path: string, value: unknown): Generator<Uint8Array, void> {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  yield fileHeader(path, bytes.length);
  yield bytes;
  yield padding(bytes.length);
}

function indexEntry({ name, target }: Exported): object {
  const tag = /:([^/@]+)$/.exec(name)?.[1];
  return {
    ...target,
    annotations: {
      "io.containerd.image.name": name,
      ...(tag === undefined ? {} : { "org.opencontainers.image.ref.name": tag }),
    },
  };
}

function dockerEntry({ name, config, layers }: Exported): object {
  return { Config: config, RepoTags: name.includes("@") ? [] : [name], Layers: layers };
}

function pathOf({ digest }: Pick<Descriptor, "digest">): string {
  return `blobs/${digest.replace(":", "/")}`;
}

function incomplete(digest: string, why: string): AgentError {
  return new AgentError({
    reason: "ImageIncomplete",
    message: `containerd has the blob ${digest} only in part (${why}): pull the image again`,
  });
}
