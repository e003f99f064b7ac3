// Performs: finds the images of a docker-archive, and writes the manifests that such an archive lacks.

import {
  blobAt,
  compressionOf,
  type ArchivedImage,
  type ArchivePlan,
  type StoredBlob,
} from "./archive-content.ts";
import {
  MAX_DOCUMENT,
  readConfig,
  readDockerImages,
  type DockerImage,
} from "./archive-documents.ts";
import { invalidArchive } from "./archive-error.ts";
import { fullNames, nameByDigest } from "./image-names.ts";
import { platformRank } from "./image-platform.ts";
import { keeping, wrongPlatform, type PlanOptions } from "./oci-layout.ts";
import { shown } from "./tar-header.ts";

const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar";
const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";

export interface DockerPlanOptions extends PlanOptions {
  /** Stores a small blob; resolves to its digest. */
  readonly store: (data: Uint8Array) => Promise<string>;
}

/** No images = none has a name. Rejects with AgentError `InvalidImageArchive`. */
export async function planDockerImages(options: DockerPlanOptions): Promise<ArchivePlan> {
  const document = options.content.documents.get("manifest.json");
  if (document === undefined)
    throw invalidArchive("it has neither index.json nor manifest.json, so it is no image archive");
  const images: ArchivedImage[] = [];
  const references = new Map<string, Readonly<Record<string, string>>>();
  const items = readDockerImages(document);
  const isNamed = items.some(({ tags }) => tags.length > 0);
  for (const item of items) {
    if (isNamed && item.tags.length === 0) continue;
    const tags = fullNames(item.tags, options.baseName);
    if (tags.length === 0) continue;
    const { config, layers } = await partsOf(item, options);
    const manifest = encode({
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: { mediaType: CONFIG_TYPE, digest: config.digest, size: config.size },
      layers: layers.map(descriptor),
    });
    const digest = await options.store(manifest);
    references.set(digest, keeping(config, layers));
    const names = [...new Set([...tags, ...tags.map((tag) => nameByDigest(tag, digest))])];
    images.push({ names, target: { mediaType: MANIFEST_TYPE, digest, size: manifest.length } });
  }
  return { images, references };
}

interface Parts {
  readonly config: StoredBlob;
  readonly layers: readonly StoredBlob[];
}

async function partsOf(item: DockerImage, options: DockerPlanOptions): Promise<Parts> {
  const { content, read, architecture } = options;
  const config = blobAt(content, item.config);
  const declared = /(?:^|\/)([0-9a-f]{64})(?:\.json)?$/.exec(item.config)?.[1];
  if (declared !== undefined && config.digest !== `sha256:${declared}`)
    throw invalidArchive(`${shown(item.config)} does not have the content that its name declares`);
  if (config.size > MAX_DOCUMENT)
    throw invalidArchive(`${shown(item.config)} has more than ${MAX_DOCUMENT} bytes`);
  const { platform, diffIds } = readConfig(await read(config), shown(item.config));
  if (platformRank(platform, architecture) === undefined)
    throw wrongPlatform([platform], architecture);
  const layers = item.layers.map((path) => blobAt(content, path));
  if (layers.length !== diffIds.length)
    throw invalidArchive(
      `an image in it has ${layers.length} layers, its config ${diffIds.length}`,
    );
  for (const [index, layer] of layers.entries())
    if (compressionOf(layer.head) === undefined && layer.digest !== diffIds[index])
      throw invalidArchive(
        `layer ${shown(item.layers[index] ?? "")} does not have the content that its config declares`,
      );
  return { config, layers };
}

function descriptor({ digest, size, head }: StoredBlob): object {
  const compression = compressionOf(head);
  const mediaType = compression === undefined ? LAYER_TYPE : `${LAYER_TYPE}+${compression}`;
  return { mediaType, digest, size };
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
