// Performs: checks the content of the images that pods need, or of all, against their digests.

import type { TargetDescriptor } from "../../../containerd/archive/image-store.ts";
import {
  contentLookup,
  containerdRoot,
  type ContentLookup,
} from "../../../containerd/content-lookup.ts";
import { isContainerd, sandboxImageName } from "../../../containerd/containerd.ts";
import { grpcCriClient } from "../../../cri/cri-client.ts";
import { GrpcChannel } from "../../../cri/grpc-connection.ts";
import { nodeImage, type NodeImage } from "../../../image/gc/image-keys.ts";
import { mebibytes } from "../../../image/pull-progress.ts";
import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { withoutUndefined } from "../../../lib/json.ts";
import type { AgentConfig } from "../../../config/config.ts";
import type { Checked, FsckFinding } from "../fsck-report.ts";
import { BlobCheck } from "./blob-check.ts";
import { imageContent, type BrokenBlob } from "./check-image.ts";
import { shownName, usersOf, usesOfContainers, type ImageUse } from "./needed-images.ts";

export interface ImagesCheck {
  readonly config: Pick<AgentConfig, "containerRuntimeEndpoint" | "imageServiceEndpoint">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Also those that nothing needs. */
  readonly isAll: boolean;
  /** Only sizes are compared. */
  readonly isLight: boolean;
  /** containerd's root; undefined = containerd is asked. */
  readonly root: string | undefined;
  /** Of manifests. */
  readonly uses: readonly ImageUse[];
  readonly onProgress: (text: string) => void;
}

export interface BrokenContent {
  /** `sha256:<hex>` */
  readonly digest: string;
  readonly path: string;
  readonly why: string;
  /** Every image of the node that has it. */
  readonly images: readonly NodeImage[];
  /** Who needs one of them. */
  readonly users: readonly string[];
}

export interface ImagesChecked {
  readonly checked: readonly Checked[];
  /** What could not be looked at. */
  readonly unchecked: readonly FsckFinding[];
  readonly broken: readonly BrokenContent[];
  /** The image of sandboxes, where the runtime tells it. */
  readonly sandbox?: string;
}

const CALL_MS = 60_000;

export async function checkImages(options: ImagesCheck): Promise<ImagesChecked> {
  const { config } = options;
  try {
    return await look(options);
  } catch (error) {
    options.signal.throwIfAborted();
    const remedy = "start containerd (systemctl start containerd), and check again";
    return nothing(config.imageServiceEndpoint, { what: messageOf(error), remedy });
  }
}

async function look(options: ImagesCheck): Promise<ImagesChecked> {
  const { config, clock, signal, isAll, isLight } = options;
  const { containerRuntimeEndpoint: endpoint, imageServiceEndpoint: imageEndpoint } = config;
  using cri = grpcCriClient({ endpoint, imageEndpoint, clock });
  using channel = new GrpcChannel({ endpoint: imageEndpoint, clock });
  const call = { signal, timeoutMs: CALL_MS };
  if (!isContainerd(await cri.version(call)))
    return nothing(imageEndpoint, {
      what: "the content of images is checked of containerd only",
      remedy: "check it with the tools of this runtime",
    });
  const { info } = await cri.status({ verbose: true, ...call });
  const { imageFilesystems } = await cri.imageFsInfo(call);
  const directories = imageFilesystems.flatMap(({ fsId }) => fsId?.mountpoint ?? []);
  const root = options.root ?? containerdRoot(info, directories);
  if (root === undefined)
    return nothing(imageEndpoint, {
      what: "containerd does not tell where its content store is",
      remedy: "name its root with --containerd-root (default of containerd: /var/lib/containerd)",
    });
  const sandbox = sandboxImageName(info);
  const uses = [
    ...options.uses,
    ...usesOfContainers(await cri.listContainers({}, call)),
    ...(sandbox === undefined ? [] : [{ reference: sandbox, user: "every pod (sandbox)" }]),
  ];
  const images = (await cri.listImages(undefined, call)).map(nodeImage);
  const walk = new ImageWalk({ ...options, root, lookup: contentLookup(channel) });
  const users = new Map(images.map((image) => [image.id, usersOf(image, uses)]));
  const isWanted = ({ id }: NodeImage): boolean => isAll || (users.get(id) ?? []).length > 0;
  const wanted = images.filter(isWanted);
  for (const [at, image] of wanted.entries()) {
    const read = mebibytes(walk.blobs.bytes);
    options.onProgress(`image ${at + 1} of ${wanted.length}, ${shownName(image)}, ${read} read`);
    await walk.check(image);
  }
  // They may share what is broken.
  for (const image of images.filter((one) => !isWanted(one))) await walk.list(image);
  const all = walk.broken(users);
  const compared = isLight
    ? "sizes compared"
    : `${mebibytes(walk.blobs.bytes)} compared with digests`;
  const what = `${wanted.length} of ${images.length} images, ${walk.blobs.count} blobs, ${compared}`;
  const unknown = walk.unknown.map((image) => withoutTarget(image, users.get(image.id) ?? []));
  return {
    checked: [{ part: "image", what }],
    unchecked: [...unknown, ...all.filter((one) => one.isUnchecked).map(uncheckedBlob)],
    broken: all.filter((one) => !one.isUnchecked),
    ...withoutUndefined({ sandbox }),
  };
}

interface ImageWalkOptions extends Pick<ImagesCheck, "isLight" | "signal"> {
  readonly root: string;
  readonly lookup: ContentLookup;
}

/** Collects what is broken, and which images have it. */
class ImageWalk {
  readonly blobs: BlobCheck;
  /** Of which containerd has no image. */
  readonly unknown: NodeImage[] = [];
  readonly #options: ImageWalkOptions;
  readonly #lists: BlobCheck;
  readonly #broken = new Map<string, BrokenBlob>();
  readonly #holders = new Map<string, readonly NodeImage[]>();

  constructor(options: ImageWalkOptions) {
    const { root, isLight } = options;
    this.#options = options;
    this.blobs = new BlobCheck({ root, isLight });
    this.#lists = new BlobCheck({ root, isLight: true });
  }

  async check(image: NodeImage): Promise<void> {
    const broken = await this.#walk(image, this.blobs);
    if (broken === undefined) this.unknown.push(image);
    for (const one of broken ?? []) this.#broken.set(one.digest, one);
  }

  /** Only which blobs it has. */
  async list(image: NodeImage): Promise<void> {
    await this.#walk(image, this.#lists);
  }

  broken(
    users: ReadonlyMap<string, readonly string[]>,
  ): readonly (BrokenContent & Pick<BrokenBlob, "isUnchecked">)[] {
    return [...this.#broken.values()].map((one) => {
      const images = this.#holders.get(one.digest) ?? [];
      const needing = new Set(images.flatMap(({ id }) => users.get(id) ?? []));
      const path = this.blobs.pathOf(one.digest);
      return { ...one, path, images, users: [...needing].toSorted() };
    });
  }

  /** undefined = containerd has no image of its names. */
  async #walk(image: NodeImage, blobs: BlobCheck): Promise<readonly BrokenBlob[] | undefined> {
    const { lookup, signal } = this.#options;
    const target = await targetOf(image, lookup, signal);
    if (target === undefined) return undefined;
    const knows = (digest: string): Promise<boolean> => lookup.knows(digest, signal);
    const { broken, digests } = await imageContent(target, { blobs, knows, signal });
    for (const digest of digests)
      this.#holders.set(digest, [...(this.#holders.get(digest) ?? []), image]);
    return broken;
  }
}

/** Not every image has each kind of name in containerd. */
async function targetOf(
  { id, tags, digests }: NodeImage,
  lookup: ContentLookup,
  signal: AbortSignal,
): Promise<TargetDescriptor | undefined> {
  for (const name of [...tags, ...digests, id]) {
    const target = await lookup.target(name, signal);
    if (target !== undefined) return target;
  }
  return undefined;
}

function withoutTarget(image: NodeImage, pods: readonly string[]): FsckFinding {
  return {
    part: "image",
    file: shownName(image),
    what: "the runtime lists it, and containerd has no image of its names",
    remedy: "check again: it may have been removed just now",
    outcome: "Unchecked",
    images: [shownName(image)],
    pods,
  };
}

function uncheckedBlob({ path, why, images, users }: BrokenContent): FsckFinding {
  return {
    part: "image",
    file: path,
    what: why,
    remedy:
      "run it as root; where containerd's root is another directory, name it with --containerd-root",
    outcome: "Unchecked",
    images: images.map(shownName),
    pods: users,
  };
}

function nothing(
  file: string,
  { what, remedy }: { readonly what: string; readonly remedy: string },
): ImagesChecked {
  const finding = { part: "image", file, what, remedy, outcome: "Unchecked" } as const;
  return { checked: [], unchecked: [finding], broken: [] };
}
