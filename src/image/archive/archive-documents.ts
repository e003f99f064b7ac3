// Reads the JSON documents of an image archive: the lists of images, indexes, manifests and configs.

import { isJsonObject, memberOf, parseJson, type JsonObject } from "../../lib/json.ts";
import { invalidArchive } from "./archive-error.ts";
import type { ImagePlatform } from "./image-platform.ts";
import { shown } from "./tar-header.ts";

/** Bytes of a document. */
export const MAX_DOCUMENT = 4 * 1024 * 1024;
/** Images of one archive, layers of one image, images of one index. */
export const MAX_ITEMS = 1000;

export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:<hex>` */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  /** Of an image in an index, if written. */
  readonly platform?: ImagePlatform;
  /** Full names, or `:` and a tag. */
  readonly names: readonly string[];
}

/** An image of `manifest.json`; the paths are those of entries. */
export interface DockerImage {
  readonly config: string;
  readonly tags: readonly string[];
  readonly layers: readonly string[];
}

export interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

export interface ImageConfig {
  readonly platform: ImagePlatform;
  /** Of the uncompressed layers. */
  readonly diffIds: readonly string[];
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const INDEX_TYPES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
];
const MANIFEST_TYPES = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];

export function isIndex({ mediaType }: Pick<Descriptor, "mediaType">): boolean {
  return INDEX_TYPES.includes(mediaType);
}

export function isManifest({ mediaType }: Pick<Descriptor, "mediaType">): boolean {
  return MANIFEST_TYPES.includes(mediaType);
}

/** The images of an OCI index. Throws AgentError `InvalidImageArchive`. */
export function readIndex(bytes: Uint8Array, what: string): readonly Descriptor[] {
  const items = listIn(objectOf(bytes, what), "manifests", what);
  return items.map((item) => descriptorOf(item, what));
}

/** Throws AgentError `InvalidImageArchive`. */
export function readManifest(bytes: Uint8Array, what: string): Manifest {
  const document = objectOf(bytes, what);
  return {
    config: descriptorOf(document["config"], what),
    layers: listIn(document, "layers", what).map((layer) => descriptorOf(layer, what)),
  };
}

/** Throws AgentError `InvalidImageArchive`. */
export function readConfig(bytes: Uint8Array, what: string): ImageConfig {
  const document = objectOf(bytes, what);
  const diffIds = listIn(document["rootfs"], "diff_ids", what);
  const texts = diffIds.filter((id) => typeof id === "string");
  if (texts.length !== diffIds.length) throw invalidArchive(`${what} has a wrong diff_ids`);
  const platform = platformOf(document);
  if (platform === undefined) throw invalidArchive(`${what} has no architecture and os`);
  return { platform, diffIds: texts };
}

/** `manifest.json` of a docker-archive. Throws AgentError `InvalidImageArchive`. */
export function readDockerImages(bytes: Uint8Array): readonly DockerImage[] {
  const what = "manifest.json";
  const images = parseJson(bytes);
  return listIn({ images }, "images", what).map((image) => {
    const config = memberOf(image, "Config");
    const tags = memberOf(image, "RepoTags") ?? [];
    const layers = listIn(image, "Layers", what);
    if (typeof config !== "string" || !areTexts(tags) || !areTexts(layers))
      throw invalidArchive(`${what} is not what a docker-archive has`);
    return { config, tags, layers };
  });
}

/** The document of `value`. Throws AgentError `InvalidImageArchive`. */
function objectOf(bytes: Uint8Array, what: string): JsonObject {
  const value = parseJson(bytes);
  if (isJsonObject(value)) return value;
  throw invalidArchive(`${what} is not a JSON object`);
}

function listIn(value: unknown, key: string, what: string): readonly unknown[] {
  const list = memberOf(value, key);
  if (!Array.isArray(list)) throw invalidArchive(`${what} has no list ${key}`);
  if (list.length > MAX_ITEMS) throw invalidArchive(`${what} has more than ${MAX_ITEMS} ${key}`);
  return list;
}

function descriptorOf(value: unknown, what: string): Descriptor {
  const [mediaType, digest, size] = ["mediaType", "digest", "size"].map((key) =>
    memberOf(value, key),
  );
  if (typeof mediaType !== "string" || typeof digest !== "string" || typeof size !== "number")
    throw invalidArchive(`${what} has a reference without mediaType, digest or size`);
  if (!DIGEST.test(digest))
    throw invalidArchive(`${what} has the reference ${shown(digest)}, which is no sha256 digest`);
  if (!Number.isSafeInteger(size) || size < 0)
    throw invalidArchive(`${what} has a reference of an impossible size`);
  const platform = platformOf(memberOf(value, "platform"));
  return {
    mediaType,
    digest,
    size,
    ...(platform === undefined ? {} : { platform }),
    names: namesIn(memberOf(value, "annotations")),
  };
}

/** containerd's full name before the tag, which some programs write as a full name too. */
function namesIn(annotations: unknown): readonly string[] {
  const name = memberOf(annotations, "io.containerd.image.name");
  if (typeof name === "string") return [name];
  const reference = memberOf(annotations, "org.opencontainers.image.ref.name");
  if (typeof reference !== "string") return [];
  return [/[/:@]/.test(reference) ? reference : `:${reference}`];
}

function platformOf(value: unknown): ImagePlatform | undefined {
  const [os, architecture, variant = ""] = ["os", "architecture", "variant"].map((key) =>
    memberOf(value, key),
  );
  const areKnown = areTexts([os, architecture, variant]);
  if (!areKnown || os === "" || architecture === "") return undefined;
  return { os: String(os), architecture: String(architecture), variant: String(variant) };
}

function areTexts(values: unknown): values is readonly string[] {
  return Array.isArray(values) && values.every((value) => typeof value === "string");
}
