// Performs: builds an OCI image from its layers: tar archive, config and manifest.

import { sha256 } from "../lib/system-sha256.ts";

const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar";
const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
const GC_REFERENCE = "containerd.io/gc.ref.content";

interface Descriptor {
  readonly mediaType: string;
  /** `sha256:…` */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

export interface Blob extends Descriptor {
  readonly data: Uint8Array;
  /** References that containerd's garbage collector follows: it keeps those blobs as long as this one. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface OciImage {
  readonly manifest: Blob;
  /** Everything to be stored, the manifest last. */
  readonly blobs: readonly Blob[];
}

/** `layers` are uncompressed tar archives, lowest first; `config` is the image config without its `rootfs`. */
export function ociImage(
  layers: readonly Uint8Array[],
  config: Readonly<Record<string, unknown>>,
): OciImage {
  const layerBlobs = layers.map((data) => blob(LAYER_TYPE, data));
  const rootfs = { type: "layers", diff_ids: layerBlobs.map((layer) => layer.digest) };
  const configBlob = blob(CONFIG_TYPE, json({ ...config, rootfs }));
  const document = {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: descriptor(configBlob),
    layers: layerBlobs.map(descriptor),
  };
  const references: Record<string, string> = { [`${GC_REFERENCE}.config`]: configBlob.digest };
  for (const [index, layer] of layerBlobs.entries())
    references[`${GC_REFERENCE}.l.${index}`] = layer.digest;
  const manifest = blob(MANIFEST_TYPE, json(document), references);
  return { manifest, blobs: [...layerBlobs, configBlob, manifest] };
}

function blob(
  mediaType: string,
  data: Uint8Array,
  labels: Readonly<Record<string, string>> = {},
): Blob {
  const digest = `sha256:${sha256(data)}`;
  return { mediaType, digest, size: data.length, data, labels };
}

function descriptor({ mediaType, digest, size }: Blob): Descriptor {
  return { mediaType, digest, size };
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

const BLOCK = 512;

/** A POSIX ustar archive with one executable file; `path` is relative and at most 100 bytes; owner root, mode 0755, time 0, so that equal input gives equal bytes. */
export function tarOfExecutable(path: string, content: Uint8Array): Uint8Array {
  const padded = Math.ceil(content.length / BLOCK) * BLOCK;
  // Two empty blocks end an archive.
  const archive = new Uint8Array(BLOCK + padded + 2 * BLOCK);
  const text = new TextEncoder();
  const put = (at: number, value: string): void => archive.set(text.encode(value), at);
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, "0");

  put(0, path);
  put(100, octal(0o755, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(content.length, 11));
  put(136, octal(0, 11));
  // The checksum is computed with spaces in its own field.
  put(148, " ".repeat(8));
  put(156, "0");
  put(257, "ustar\0" + "00");
  const sum = archive.subarray(0, BLOCK).reduce((total, byte) => total + byte, 0);
  put(148, `${octal(sum, 6)}\0 `);
  archive.set(content, BLOCK);
  return archive;
}
