// Performs: the ImageStore of a real containerd. A lease keeps what a session stores until it is named; if the session
// fails, its lease goes with everything that only the lease kept.

import { GrpcCode } from "../../lib/grpc-code.ts";
import { CriError, hasCode, ifFound } from "../../cri/cri-error.ts";
import { ignoreNotFound, type CallSettings, type GrpcChannel } from "../../cri/grpc-connection.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { CRI_NAMESPACE_HEADERS } from "../containerd.ts";
import { Content } from "../gen/containerd/services/content/v1/content_pb.ts";
import { Images } from "../gen/containerd/services/images/v1/images_pb.ts";
import { Leases } from "../gen/containerd/services/leases/v1/leases_pb.ts";
import { writeBlob } from "./blob-writer.ts";
import type { ImageSession, ImageStore, TargetDescriptor } from "./image-store.ts";

const CALL_MS = 60_000;
/** Removes from the disk what only the lease has kept; slow on an SD card. */
const RELEASE_MS = 300_000;
/** Waits between attempts to remove an unfinished write. */
const ABORT_AGAIN_MS: readonly number[] = [20, 100, 500, 2_000];
const READ_BYTES = 1024 * 1024;
const LEASE_PREFIX = "agent-archive-";
const OWNER_LABEL = "agent/owner";
const GC_REFERENCE = "containerd.io/gc.ref.content";
/** The CRI plugin manages images with this label. */
const LABELS = { "io.cri-containerd.image": "managed" };

export interface ContainerdImagesOptions {
  readonly channel: GrpcChannel;
  readonly clock: Clock;
  /** Of this process, and whether another one still runs. */
  readonly owner: string;
  readonly isRunning: (owner: string) => boolean;
  readonly cri: Pick<CriClient, "imageFsInfo">;
  /** Of the file system of a path; throws if it is not there. */
  readonly freeBytes: (path: string) => number;
}

export function containerdImages(options: ContainerdImagesOptions): ImageStore {
  const { channel } = options;
  let opened = 0;
  return {
    sweep: (signal) => sweep(options, signal),
    async freeBytes(signal) {
      const { imageFilesystems } = await options.cri.imageFsInfo({ signal });
      const place = imageFilesystems[0]?.fsId?.mountpoint ?? "";
      return place === "" ? undefined : options.freeBytes(place);
    },
    async open(signal) {
      await sweep(options, signal);
      opened += 1;
      const id = `${LEASE_PREFIX}${options.owner}-${opened}`;
      const labels = { [OWNER_LABEL]: options.owner };
      await channel.unary(Leases.method.create, { id, labels }, settingsOf(signal));
      return session(options, { id, signal });
    },
    async target(name, signal) {
      const found = await ifFound(channel.unary(Images.method.get, { name }, settingsOf(signal)));
      const target = found?.image?.target;
      if (target === undefined) return undefined;
      const { mediaType, digest, size } = target;
      return { mediaType, digest, size: Number(size) };
    },
    content: (blob, signal) => content(channel, blob, settingsOf(signal)),
  };
}

function settingsOf(signal: AbortSignal | undefined): CallSettings {
  return { signal, timeoutMs: CALL_MS, headers: CRI_NAMESPACE_HEADERS };
}

/** Releases what dead processes have left. */
async function sweep(options: ContainerdImagesOptions, signal: AbortSignal): Promise<void> {
  const { channel, isRunning } = options;
  const { leases } = await channel.unary(Leases.method.list, {}, settingsOf(signal));
  for (const { id, labels } of leases) {
    if (!id.startsWith(LEASE_PREFIX) || isRunning(labels[OWNER_LABEL] ?? "")) continue;
    await release(options, id);
  }
}

/** Not cancelled by the signal that ended the session. */
async function release(options: ContainerdImagesOptions, id: string): Promise<void> {
  const { channel } = options;
  const settings = { timeoutMs: RELEASE_MS, headers: CRI_NAMESPACE_HEADERS };
  const { statuses } = await channel.unary(Content.method.listStatuses, {}, settings);
  for (const { ref } of statuses) if (ref.startsWith(`${id}-`)) await abortWrite(options, ref);
  await ignoreNotFound(channel.unary(Leases.method.delete, { id, sync: true }, settings));
}

/** containerd closes a write whose call is over in its own time: a file that it still adds makes the removal fail. */
async function abortWrite({ channel, clock }: ContainerdImagesOptions, ref: string): Promise<void> {
  const settings = { timeoutMs: RELEASE_MS, headers: CRI_NAMESPACE_HEADERS };
  for (const wait of [...ABORT_AGAIN_MS, undefined])
    try {
      return await ignoreNotFound(channel.unary(Content.method.abort, { ref }, settings));
    } catch (thrown) {
      if (wait === undefined || !(thrown instanceof CriError)) throw thrown;
      await clock.sleep(wait);
    }
}

interface Lease {
  readonly id: string;
  readonly signal: AbortSignal;
}

function session(options: ContainerdImagesOptions, { id, signal }: Lease): ImageSession {
  const { channel } = options;
  const headers = { ...CRI_NAMESPACE_HEADERS, "containerd-lease": id };
  const settings = { ...settingsOf(signal), headers };
  let blobs = 0;
  return {
    begin(blob) {
      blobs += 1;
      return writeBlob({ ...blob, ref: `${id}-${blobs}` }, channel, settings);
    },
    async sizeOf(digest) {
      const found = await ifFound(channel.unary(Content.method.info, { digest }, settings));
      return found?.info === undefined ? undefined : Number(found.info.size);
    },
    async read(blob) {
      const parts: Uint8Array[] = [];
      for await (const data of content(channel, blob, settings)) parts.push(data);
      return Buffer.concat(parts);
    },
    async refer(digest, references) {
      const labels = Object.fromEntries(
        Object.entries(references).map(([name, to]) => [`${GC_REFERENCE}.${name}`, to]),
      );
      const updateMask = { paths: Object.keys(labels).map((label) => `labels.${label}`) };
      if (updateMask.paths.length === 0) return;
      const info = { digest, labels };
      await channel.unary(Content.method.update, { info, updateMask }, settings);
    },
    name: (name, target) => nameImage(channel, { name, target }, settings),
    [Symbol.asyncDispose]: () => release(options, id),
  };
}

async function nameImage(
  channel: GrpcChannel,
  { name, target }: { readonly name: string; readonly target: TargetDescriptor },
  settings: CallSettings,
): Promise<void> {
  const { mediaType, digest, size } = target;
  const image = { name, labels: LABELS, target: { mediaType, digest, size: BigInt(size) } };
  try {
    await channel.unary(Images.method.create, { image }, settings);
  } catch (thrown) {
    if (!hasCode(thrown, GrpcCode.ALREADY_EXISTS)) throw thrown;
    await channel.unary(Images.method.update, { image }, settings);
  }
}

/** In parts, each with a deadline of its own. */
async function* content(
  channel: GrpcChannel,
  { digest, size }: Pick<TargetDescriptor, "digest" | "size">,
  settings: CallSettings,
): AsyncGenerator<Uint8Array, void> {
  for (let offset = 0; offset < size; offset += READ_BYTES) {
    const length = Math.min(READ_BYTES, size - offset);
    const part = { digest, offset: BigInt(offset), size: BigInt(length) };
    for await (const { data } of channel.stream(Content.method.read, part, settings)) yield data;
  }
}
