// Performs: asks containerd how much of an image that is being pulled has arrived. CRI has no call for that.

import { timestampMs } from "@bufbuild/protobuf/wkt";
import { isUnimplemented } from "../cri/cri-error.ts";
import type { GrpcChannel } from "../cri/grpc-connection.ts";
import { CRI_NAMESPACE_HEADERS } from "./containerd.ts";
import { Content } from "./gen/containerd/services/content/v1/content_pb.ts";
import {
  digestOfRef,
  imageBeingWritten,
  partsOf,
  pulledBytes,
  type ImageParts,
  type Ingest,
  type PulledBytes,
} from "./pulled-bytes.ts";

/** Of one pull. */
export interface PullMeter {
  /** undefined = this runtime does not report it. Throws CriError. */
  read(signal: AbortSignal): Promise<PulledBytes | undefined>;
}

/** For the pull of an image from this repository, complete with registry. */
export type MeasurePull = (repository: {
  readonly domain: string;
  readonly path: string;
}) => PullMeter;

const CALL_MS = 10_000;
/** Manifests of one repository that are looked at, the newest first: there may be one for each tag that was ever pulled. */
const MANIFESTS = 20;
/** containerd's own limit. */
const MANIFEST_BYTES = 8 * 1024 * 1024;

export function measurePulls(channel: GrpcChannel): MeasurePull {
  return (repository) => {
    const meter = new ContainerdMeter(channel, repository);
    return {
      read: (signal) =>
        meter.read(signal).catch((thrown: unknown) => {
          if (isUnimplemented(thrown)) return undefined;
          throw thrown;
        }),
    };
  };
}

class ContainerdMeter {
  readonly #channel: GrpcChannel;
  readonly #source: string;
  readonly #done = new Set<string>();
  /** Manifests that were read, by digest; undefined = of no platform. */
  readonly #read = new Map<string, ImageParts | undefined>();
  #parts: ImageParts | undefined;

  constructor(channel: GrpcChannel, { domain, path }: Parameters<MeasurePull>[0]) {
    this.#channel = channel;
    // containerd writes on each blob from which repositories it came, divided by commas, and leaves out the port.
    const host = domain.replace(/:[0-9]+$/, "");
    const escaped = path.replaceAll(/[.*+?()[\]{}|^$\\]/g, "[$&]");
    const label = `labels.${JSON.stringify(`containerd.io/distribution.source.${host}`)}`;
    const config = 'labels."containerd.io/gc.ref.content.config"';
    this.#source = `${label}~=${JSON.stringify(`(^|,)${escaped}(,|$)`)},${config}`;
  }

  async read(signal: AbortSignal): Promise<PulledBytes> {
    const ingests = await this.#ingests(signal);
    this.#parts ??= await this.#imageBeingWritten(ingests, signal);
    const parts = this.#parts;
    if (parts !== undefined) {
      const written = new Set(ingests.map(({ digest }) => digest));
      const absent = [...parts.keys()].filter((one) => !this.#done.has(one) && !written.has(one));
      for (const digest of await this.#here(absent, signal)) this.#done.add(digest);
    }
    return pulledBytes(parts, ingests, this.#done);
  }

  async #ingests(signal: AbortSignal): Promise<readonly Ingest[]> {
    const settings = this.#settings(signal);
    const { statuses } = await this.#channel.unary(Content.method.listStatuses, {}, settings);
    return statuses.map(({ ref, offset, expected, updatedAt }) => ({
      ref,
      digest: expected === "" ? digestOfRef(ref) : expected,
      offset: Number(offset),
      updatedAt: updatedAt === undefined ? 0 : timestampMs(updatedAt),
    }));
  }

  async #imageBeingWritten(
    ingests: readonly Ingest[],
    signal: AbortSignal,
  ): Promise<ImageParts | undefined> {
    if (ingests.length === 0) return undefined;
    const found = await this.#list([this.#source], signal);
    const newest = found.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, MANIFESTS);
    for (const { digest, size } of newest)
      if (!this.#read.has(digest) && size <= MANIFEST_BYTES)
        this.#read.set(digest, partsOf(await this.#blob(digest, signal)));
    const images = newest.flatMap(({ digest }) => this.#read.get(digest) ?? []);
    return imageBeingWritten(images, ingests);
  }

  async #here(digests: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    if (digests.length === 0) return [];
    const filters = digests.map((digest) => `digest==${JSON.stringify(digest)}`);
    return (await this.#list(filters, signal)).map(({ digest }) => digest);
  }

  async #list(filters: string[], signal: AbortSignal) {
    const all: { readonly digest: string; readonly size: number; readonly createdAt: number }[] =
      [];
    const stream = this.#channel.stream(Content.method.list, { filters }, this.#settings(signal));
    for await (const { info } of stream)
      for (const { digest, size, createdAt } of info) {
        const at = createdAt === undefined ? 0 : timestampMs(createdAt);
        all.push({ digest, size: Number(size), createdAt: at });
      }
    return all;
  }

  async #blob(digest: string, signal: AbortSignal): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    const stream = this.#channel.stream(Content.method.read, { digest }, this.#settings(signal));
    for await (const { data } of stream) chunks.push(data);
    return Buffer.concat(chunks);
  }

  #settings(signal: AbortSignal) {
    return { signal, timeoutMs: CALL_MS, headers: CRI_NAMESPACE_HEADERS };
  }
}
