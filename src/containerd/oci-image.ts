// Performs: the documents of an OCI image, made from its layers: a config, a manifest, and who refers to whom.

import { sha256 } from "../lib/system-sha256.ts";

const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar";
const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
const GC_REFERENCE = "containerd.io/gc.ref.content";

export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:…` */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

export interface Blob extends Descriptor {
  readonly data: Uint8Array;
  /** What containerd's garbage collector must keep as long as this blob is kept. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface OciImage {
  readonly manifest: Blob;
  /** Everything that has to be stored, the manifest last. */
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
