// Performs: stores one small image from memory in containerd, where the CRI plugin finds it; no registry, no file.

import { GrpcCode, CriError, isNotFound } from "../cri/cri-error.ts";
import type { CallSettings, GrpcChannel } from "../cri/grpc.ts";
import { Content, WriteAction } from "./gen/containerd/services/content/v1/content_pb.ts";
import { Images } from "./gen/containerd/services/images/v1/images_pb.ts";
import { Leases } from "./gen/containerd/services/leases/v1/leases_pb.ts";
import { CRI_NAMESPACE_HEADERS } from "./containerd.ts";
import { ociImage, type Blob, type OciImage } from "./oci-image.ts";

/** Bytes per message; containerd accepts at most 16 MiB. */
const CHUNK = 1024 * 1024;
const CALL_MS = 60_000;

interface ImportImageArgs {
  /** Full reference, e.g. `registry.k8s.io/pause:3.6`. */
  readonly name: string;
  /** Uncompressed tar archives, lowest first. */
  readonly layers: readonly Uint8Array[];
  /** The image config (`architecture`, `os`, `config.Entrypoint`, …) without its `rootfs`. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Pinned: image garbage collection keeps it. */
  readonly pinned?: boolean;
}

interface ImportImageOptions {
  readonly channel: GrpcChannel;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the digest of the manifest. An existing name points at this image afterwards. Throws CriError. */
export async function importImage(
  args: ImportImageArgs,
  options: ImportImageOptions,
): Promise<string> {
  const { channel, signal } = options;
  const image = ociImage(args.layers, args.config);
  const settings = { signal, timeoutMs: CALL_MS, headers: CRI_NAMESPACE_HEADERS };
  // The lease keeps the blobs until the name refers to them. It is named after the image: the next try reuses and deletes
  // a lease left by a crash.
  const lease = `agent-import-${image.manifest.digest}`;
  await unlessExists(channel.unary(Leases.method.create, { id: lease }, settings));
  try {
    const leased = {
      ...settings,
      headers: { ...CRI_NAMESPACE_HEADERS, "containerd-lease": lease },
    };
    for (const blob of image.blobs) await store(channel, blob, leased);
    await point(channel, imageRecord(args, image), leased);
  } finally {
    await unlessGone(channel.unary(Leases.method.delete, { id: lease }, settings));
  }
  return image.manifest.digest;
}

async function store(channel: GrpcChannel, blob: Blob, settings: CallSettings): Promise<void> {
  const writing = channel.exchange(Content.method.write, writeRequests(blob), settings);
  if (await unlessExists(writing)) return;
  const { digest, labels } = blob;
  const updateMask = { paths: Object.keys(labels).map((label) => `labels.${label}`) };
  if (updateMask.paths.length > 0)
    await channel.unary(Content.method.update, { info: { digest, labels }, updateMask }, settings);
}

function writeRequests(blob: Blob): readonly WriteRequest[] {
  const requests: WriteRequest[] = [];
  const { digest, size, data } = blob;
  const common = { ref: `agent-${digest}`, total: BigInt(size), expected: digest };
  let offset = 0;
  for (; size - offset > CHUNK; offset += CHUNK)
    requests.push({
      ...common,
      action: WriteAction.WRITE,
      offset: BigInt(offset),
      data: data.subarray(offset, offset + CHUNK),
    });
  requests.push({
    ...common,
    action: WriteAction.COMMIT,
    offset: BigInt(offset),
    data: data.subarray(offset),
    labels: { ...blob.labels },
  });
  return requests;
}

interface WriteRequest {
  readonly action: WriteAction;
  readonly ref: string;
  readonly total: bigint;
  readonly expected: string;
  readonly offset: bigint;
  readonly data: Uint8Array;
  readonly labels?: Record<string, string>;
}

interface ImageRecord {
  readonly name: string;
  readonly labels: Record<string, string>;
  readonly target: { readonly mediaType: string; readonly digest: string; readonly size: bigint };
}

function imageRecord(args: ImportImageArgs, { manifest }: OciImage): ImageRecord {
  const { mediaType, digest, size } = manifest;
  // The CRI plugin manages images with this label.
  const labels: Record<string, string> = { "io.cri-containerd.image": "managed" };
  if (args.pinned === true) labels["io.cri-containerd.pinned"] = "pinned";
  return { name: args.name, labels, target: { mediaType, digest, size: BigInt(size) } };
}

async function point(
  channel: GrpcChannel,
  image: ImageRecord,
  settings: CallSettings,
): Promise<void> {
  if (await unlessExists(channel.unary(Images.method.create, { image }, settings))) return;
  await channel.unary(Images.method.update, { image }, settings);
}

/** false = it existed already. */
async function unlessExists(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (thrown) {
    if (thrown instanceof CriError && thrown.code === GrpcCode.ALREADY_EXISTS) return false;
    throw thrown;
  }
}

async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
  }
}
