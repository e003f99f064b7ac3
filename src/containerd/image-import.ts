// Performs: stores one small image from memory in containerd, where the CRI plugin finds it; no registry, no file.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { hasCode } from "../cri/cri-error.ts";
import { ignoreNotFound, type CallSettings, type GrpcChannel } from "../cri/grpc-connection.ts";
import {
  Content,
  WriteAction,
  type WriteContentRequestSchema,
} from "./gen/containerd/services/content/v1/content_pb.ts";
import { Images } from "./gen/containerd/services/images/v1/images_pb.ts";
import { Leases } from "./gen/containerd/services/leases/v1/leases_pb.ts";
import { CRI_NAMESPACE_HEADERS } from "./containerd.ts";
import { ociImage, type Blob, type OciImage } from "./oci-image.ts";
import { GrpcCode } from "../lib/grpc-code.ts";

/** Bytes per message. With 256 KiB and more Bun's HTTP/2 client stalls for good now and then. */
export const CHUNK = 128 * 1024;
const CALL_MS = 60_000;

export interface ImportImageArgs {
  /** Full reference, e.g. `registry.k8s.io/pause:3.6`. */
  readonly name: string;
  /** Uncompressed tar archives, lowest first. */
  readonly layers: readonly Uint8Array[];
  /** The image config (`architecture`, `os`, `config.Entrypoint`, …) without its `rootfs`. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Pinned: image garbage collection keeps it. */
  readonly pinned?: boolean;
}

/** Returns the digest of the manifest. An existing name points at this image afterwards. Throws CriError. */
export async function importImage(
  args: ImportImageArgs,
  channel: GrpcChannel,
  signal?: AbortSignal,
): Promise<string> {
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
    await point(channel, { ...args, manifest: image.manifest }, leased);
  } finally {
    await ignoreNotFound(channel.unary(Leases.method.delete, { id: lease }, settings));
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

type WriteRequest = MessageInitShape<typeof WriteContentRequestSchema>;

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

async function point(
  channel: GrpcChannel,
  { name, pinned = false, manifest }: ImportImageArgs & Pick<OciImage, "manifest">,
  settings: CallSettings,
): Promise<void> {
  const { mediaType, digest, size } = manifest;
  const labels: Record<string, string> = {
    // The CRI plugin manages images with this label.
    "io.cri-containerd.image": "managed",
    ...(pinned ? { "io.cri-containerd.pinned": "pinned" } : {}),
  };
  const image = { name, labels, target: { mediaType, digest, size: BigInt(size) } };
  if (await unlessExists(channel.unary(Images.method.create, { image }, settings))) return;
  await channel.unary(Images.method.update, { image }, settings);
}

/** false = it existed already. */
async function unlessExists(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (thrown) {
    if (hasCode(thrown, GrpcCode.ALREADY_EXISTS)) return false;
    throw thrown;
  }
}
