// The blobs of an image as a registry serves them.

export const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG = "application/vnd.docker.container.image.v1+json";
const LAYER = "application/vnd.docker.image.rootfs.diff.tar";
const BLOCK = 512;

export interface Blob {
  readonly digest: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export function manifestOf(config: Blob, layer: Blob): object {
  const descriptor = (mediaType: string, { digest, bytes }: Blob): object => ({
    mediaType,
    digest,
    size: bytes.length,
  });
  return {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: descriptor(CONFIG, config),
    layers: [descriptor(LAYER, layer)],
  };
}

/** Configuration and layer of a docker-archive, which lie behind its manifest in this order. */
export function partsOf(archive: Uint8Array): readonly [Blob, Blob] {
  const parts: Blob[] = [];
  const bytes = Buffer.from(archive);
  for (let at = 0; parts.length < 3;) {
    const size = Number.parseInt(bytes.toString("latin1", at + 124, at + 135), 8);
    parts.push(blob(bytes.subarray(at + BLOCK, at + BLOCK + size)));
    at += BLOCK * (1 + Math.ceil(size / BLOCK));
  }
  const [, config, layer] = parts;
  if (config === undefined || layer === undefined) throw new Error("the archive has no image");
  return [config, layer];
}

export function blob(data: Uint8Array): Blob {
  const bytes = new Uint8Array(data);
  return { bytes, digest: `sha256:${new Bun.CryptoHasher("sha256").update(bytes).digest("hex")}` };
}
