// Image archives for tests: docker-archives and OCI layouts of any content, right or wrong.

import { tar, type TarEntry } from "./tar.ts";

export interface Part {
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string;
  readonly data: Uint8Array;
}

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

/** All blobs of an image; the last one is its manifest, or index. */
export type OciImage = readonly Part[];

export const AMD64: Platform = { os: "linux", architecture: "amd64" };
export const ARM64: Platform = { os: "linux", architecture: "arm64", variant: "v8" };
/** Of the machine that runs the tests. */
export const HERE: Platform = process.arch === "arm64" ? ARM64 : AMD64;

const OCI = "application/vnd.oci.image";

/** One uncompressed layer with one file; `text` makes two images differ. */
export function layerOf(text: string): Uint8Array {
  return tar([{ type: "file", path: "text", mode: 0o644, data: Buffer.from(text) }]);
}

export function ociImage(layers: readonly Uint8Array[], platform: Platform = HERE): OciImage {
  const parts = layers.map((data) => part(data, `${OCI}.layer.v1.tar`));
  const config = part(json(configOf(layers, platform)), `${OCI}.config.v1+json`);
  const manifest = {
    schemaVersion: 2,
    mediaType: `${OCI}.manifest.v1+json`,
    config: descriptor(config),
    layers: parts.map((one) => descriptor(one)),
  };
  return [...parts, config, part(json(manifest), `${OCI}.manifest.v1+json`)];
}

/** An index of images, each with its platform. */
export function ociIndex(images: readonly (readonly [OciImage, Platform | undefined])[]): OciImage {
  const manifests = images.map(([image, platform]) => ({
    ...descriptor(topOf(image)),
    ...(platform === undefined ? {} : { platform }),
  }));
  const index = { schemaVersion: 2, mediaType: `${OCI}.index.v1+json`, manifests };
  return [...images.flatMap(([image]) => image), part(json(index), `${OCI}.index.v1+json`)];
}

export interface NamedImage {
  readonly image: OciImage;
  /** Of `io.containerd.image.name`; absent = without. */
  readonly name?: string;
  /** Of `org.opencontainers.image.ref.name`. */
  readonly refName?: string;
  readonly platform?: Platform;
}

/** The entries of an OCI layout, `index.json` last, as a registry's client writes them. */
export function ociEntries(images: readonly NamedImage[]): readonly TarEntry[] {
  const blobs = new Map(images.flatMap(({ image }) => image).map((one) => [one.digest, one]));
  const manifests = images.map(({ image, name, refName, platform }) => ({
    ...descriptor(topOf(image)),
    ...(platform === undefined ? {} : { platform }),
    annotations: {
      ...(name === undefined ? {} : { "io.containerd.image.name": name }),
      ...(refName === undefined ? {} : { "org.opencontainers.image.ref.name": refName }),
    },
  }));
  return [
    file("oci-layout", json({ imageLayoutVersion: "1.0.0" })),
    { type: "directory", path: "blobs", mode: 0o755 },
    { type: "directory", path: "blobs/sha256", mode: 0o755 },
    ...[...blobs.values()].map(({ digest, data }) => file(blobPath(digest), data)),
    file("index.json", json({ schemaVersion: 2, manifests })),
  ];
}

export interface DockerOptions {
  readonly tags: readonly string[];
  readonly layers: readonly Uint8Array[];
  readonly platform?: Platform;
  /** Further members of the config, such as `config: {Cmd: […]}`. */
  readonly config?: object;
}

/** The entries of a docker-archive, `manifest.json` last, as `docker save` writes them. */
export function dockerEntries(images: readonly DockerOptions[]): readonly TarEntry[] {
  const entries = new Map<string, TarEntry>();
  const manifest = images.map(({ tags, layers, platform = HERE, config: more = {} }) => {
    const config = json({ ...configOf(layers, platform), ...more });
    const configPath = `${sha256(config)}.json`;
    const paths = layers.map((layer) => `${sha256(layer)}/layer.tar`);
    for (const [index, path] of paths.entries()) entries.set(path, file(path, layers[index]!));
    entries.set(configPath, file(configPath, config));
    return { Config: configPath, RepoTags: tags, Layers: paths };
  });
  return [...entries.values(), file("manifest.json", json(manifest))];
}

export function file(path: string, data: Uint8Array): TarEntry {
  return { type: "file", path, mode: 0o644, data };
}

export function blobPath(digest: string): string {
  return `blobs/${digest.replace(":", "/")}`;
}

export function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

export function topOf(image: OciImage): Part {
  return image.at(-1)!;
}

export function part(data: Uint8Array, mediaType: string): Part {
  return { digest: `sha256:${sha256(data)}`, size: data.length, mediaType, data };
}

export function descriptor({ mediaType, digest, size }: Part): {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
} {
  return { mediaType, digest, size };
}

export function sha256(data: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("hex");
}

function configOf(layers: readonly Uint8Array[], platform: Platform): object {
  const diffIds = layers.map((layer) => `sha256:${sha256(layer)}`);
  return { ...platform, config: {}, rootfs: { type: "layers", diff_ids: diffIds } };
}
