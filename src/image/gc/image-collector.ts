// Performs: removes images that nothing needs when their file system fills up, or when they have been unused for too
// long. kubelet: imageGCManager, StartGarbageCollection
//
// Every five minutes, and soon after a pull, one statfs; images and containers are listed only when something is due. Before each removal what
// holds the image is asked again, and after it the space that is left is measured again.

import type { Image } from "../../cri/gen/runtime/v1/api_pb.ts";
import { sandboxImageName } from "../../containerd/containerd.ts";
import type { Edges } from "../../edges.ts";
import type { NewEvent, RecordEvent } from "../../api/v1/events.ts";
import { deadline, type Monotonic } from "../../lib/clock.ts";
import { Alarm } from "../../lib/alarm.ts";
import { Mailbox } from "../../lib/mailbox.ts";
import { Limiter } from "../../lib/concurrency-limit.ts";
import { messageOf } from "../../lib/errors.ts";
import { jitter } from "../../lib/random.ts";
import { imageHold, ImageUsers, type ImageHold, type ImageUser } from "./image-holds.ts";
import { imageKeys, nodeImage, referenceKeys, type NodeImage } from "./image-keys.ts";
import type { ImageUsage } from "./image-usage.ts";
import {
  bytesToFree,
  bytesToLowMark,
  isOverAge,
  planImageGC,
  type DiskSpace,
  type ImageCandidate,
  type ImageGCPolicy,
} from "./plan-image-gc.ts";

export interface ImageCollectorOptions extends Pick<
  Edges,
  "clock" | "random" | "log" | "cri" | "diskSpace"
> {
  readonly policy: ImageGCPolicy;
  readonly usage: ImageUsage;
  /** Of what is desired, last good, or runs, at this moment. */
  readonly users: () => readonly ImageUser[];
  /** Every source has synced and what it asks for has been applied: before that, an image may be wanted unknown to us. */
  readonly isSettled: () => boolean;
  /** Takes back what killed imports have left in the runtime. */
  readonly sweep: (signal: AbortSignal) => Promise<void>;
  readonly record: RecordEvent;
  readonly nodeName: string;
}

export interface CollectedImages {
  /** Measured on the file system. */
  readonly freedBytes: number;
  readonly removed: readonly NodeImage[];
}

/** `Unsettled`: what the sources ask for is not known yet. */
export type RemoveOutcome =
  | { readonly type: "Removed"; readonly image: NodeImage }
  | { readonly type: "Held"; readonly image: NodeImage; readonly hold: ImageHold }
  | { readonly type: "NotFound" }
  | { readonly type: "Unsettled" };

/** An image of the node, with what keeps it. */
export interface ListedImage {
  readonly image: NodeImage;
  readonly hold: ImageHold | undefined;
  /** undefined = unknown: others brought it. */
  readonly idleMs: number | undefined;
}

/** kubelet: ImageGCPeriod */
const EVERY_MS = 300_000;
/** A pull is what fills the disk. */
const PULLED_MS = 10_000;
/** The runtime frees space a little after a removal. */
const SOON_MS = 15_000;
const COLLECT_MS = 600_000;
/** A status that is asked for does not wait longer for the images. */
const LIST_MS = 2_000;
const EVENT_EVERY_MS = 3_600_000;
const NOTHING: CollectedImages = { freedBytes: 0, removed: [] };

export class ImageCollector {
  readonly #options: ImageCollectorOptions;
  readonly #one = new Limiter(1);
  readonly #recorded = new Map<string, Monotonic>();
  /** Directory of the images' file system. */
  #place: string | undefined;

  constructor(options: ImageCollectorOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, isSettled, usage } = this.#options;
    const due = new Mailbox<"Due">();
    using alarm = new Alarm(clock, () => due.send("Due"));
    alarm.after(jitter(random, EVERY_MS, 0.1));
    usage.follow(() => alarm.by(clock.monotonic() + PULLED_MS));
    while ((await due.receive(signal)) !== undefined) {
      const next = isSettled() ? await this.#guardedTurn(signal) : "Later";
      if (next === "Soon") alarm.by(clock.monotonic() + SOON_MS);
      alarm.by(clock.monotonic() + jitter(random, EVERY_MS, 0.1));
    }
  }

  async #guardedTurn(signal: AbortSignal): Promise<"Soon" | "Later"> {
    try {
      return await this.#turn(signal);
    } catch (error) {
      if (signal.aborted) return "Later";
      this.#options.log.warn("cannot collect images", { error: messageOf(error) });
      this.#record("ImageGCFailed", `images were not collected: ${messageOf(error)}`);
      return "Later";
    }
  }

  /** Removes every image that nothing holds, whatever its age; nothing before the sources are ready. */
  async collectUnused(signal: AbortSignal): Promise<CollectedImages> {
    const all = Number.POSITIVE_INFINITY;
    return this.#one.run(async () => this.#collect(() => all, signal));
  }

  /** What `collectUnused` would remove now. */
  async unused(signal: AbortSignal): Promise<readonly NodeImage[]> {
    if (!this.#options.isSettled()) return [];
    const all = Number.POSITIVE_INFINITY;
    return planImageGC(await this.#candidates(signal), all, this.#options.policy).remove;
  }

  /** By an operator's order, with all its names. `isForced`: also if others brought it. Rejects with CriError. */
  async remove(
    reference: string,
    { isForced, signal }: { readonly isForced: boolean; readonly signal: AbortSignal },
  ): Promise<RemoveOutcome> {
    return this.#one.run(async () => {
      if (!this.#options.isSettled()) return { type: "Unsettled" };
      const all = await this.list(signal);
      const found = all.find(({ image }) => isNamed(image, reference));
      if (found === undefined) return { type: "NotFound" };
      const { image } = found;
      // A pod that needs it may have come since the list.
      const holds = [found.hold, this.#holdNow(image)].filter((one) => one !== undefined);
      const hold = holds.find(({ why }) => !isForced || why !== "Foreign");
      if (hold !== undefined) return { type: "Held", image, hold };
      await this.#removeNow(image, signal);
      return { type: "Removed", image };
    });
  }

  /** Every source has synced and what it asks for has been applied. */
  get isSettled(): boolean {
    return this.#options.isSettled();
  }

  /** Every image of the node, without what keeps it: one call. Rejects with CriError. */
  async images(outer: AbortSignal): Promise<readonly NodeImage[]> {
    using limit = deadline(this.#options.clock, LIST_MS, outer);
    return uniqueImages(await this.#options.cri.listImages(undefined, { signal: limit.signal }));
  }

  /** Every image of the node. */
  async list(signal: AbortSignal): Promise<readonly ListedImage[]> {
    const { usage } = this.#options;
    const { images, holders } = await this.#look(signal);
    return images.map((image) => ({
      image,
      hold: imageHold(image, holders, usage.get(image.id)),
      idleMs: usage.idleMs(image.id),
    }));
  }

  async #turn(signal: AbortSignal): Promise<"Soon" | "Later"> {
    const { policy, usage, users } = this.#options;
    usage.look(users().map(({ reference }) => reference));
    const space = await this.#space(signal);
    const isOver = usage.all().some(({ id }) => isOverAge(usage.idleMs(id) ?? 0, policy.maxAgeMs));
    const isFull = space !== undefined && bytesToFree(space, policy) > 0;
    if (!isOver && !isFull) return "Later";
    const toFree = (now: DiskSpace): number => (isFull ? bytesToLowMark(now, policy) : 0);
    const { removed } = await this.#one.run(async () => this.#collect(toFree, signal));
    const left = await this.#space(signal);
    if (!isFull || left === undefined || bytesToLowMark(left, policy) === 0) return "Later";
    if (removed.length > 0) return "Soon";
    this.#recordFull(left);
    return "Later";
  }

  /** `toFree`: bytes that are still to be freed; Infinity = all that is not held. */
  async #collect(
    toFree: (space: DiskSpace) => number,
    outer: AbortSignal,
  ): Promise<CollectedImages> {
    if (!this.#options.isSettled()) return NOTHING;
    using limit = deadline(this.#options.clock, COLLECT_MS, outer);
    const { signal } = limit;
    const before = await this.#space(signal);
    await this.#sweep(signal);
    const swept = await this.#space(signal);
    let missing = swept === undefined ? 0 : toFree(swept);
    let candidates = await this.#candidates(signal);
    const removed: NodeImage[] = [];
    while (!signal.aborted && this.#options.isSettled()) {
      const [image] = planImageGC(candidates, missing, this.#options.policy).remove;
      if (image === undefined) break;
      candidates = candidates.filter((one) => one.image !== image);
      if (!(await this.#remove(image, signal))) continue;
      removed.push(image);
      // Its size counts until the runtime has really freed it; layers that others share stay.
      const now = await this.#space(signal);
      missing = Math.min(missing - image.sizeBytes, now === undefined ? missing : toFree(now));
    }
    const after = await this.#space(signal);
    const freed = (after?.availableBytes ?? 0) - (before?.availableBytes ?? 0);
    return { freedBytes: Math.max(0, freed), removed };
  }

  /** An import by hand may have been killed in the middle; the next one sweeps too, and there may be none. */
  async #sweep(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.sweep(signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const facts = { error: messageOf(error) };
      this.#options.log.warn("cannot remove what killed imports of images have left", facts);
    }
  }

  async #remove(image: NodeImage, signal: AbortSignal): Promise<boolean> {
    // A pod that needs it may have come since the list.
    if (this.#holdNow(image) !== undefined) return false;
    try {
      await this.#removeNow(image, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const { id, tags } = image;
      const facts = { image: tags[0] ?? id, error: messageOf(error) };
      this.#options.log.warn("cannot remove an image", facts);
      return false;
    }
    return true;
  }

  async #removeNow(image: NodeImage, signal: AbortSignal): Promise<void> {
    const { cri, log, usage } = this.#options;
    const { id, tags, sizeBytes: bytes } = image;
    const idleSeconds = Math.round(this.#idleOf(image) / 1000);
    log.info("RemoveImage", { image: tags[0] ?? id, id, bytes, idleSeconds });
    await cri.removeImage({ image: id }, { signal });
    usage.forget(new Set([id]));
  }

  /** Without the containers, which only the runtime knows. */
  #holdNow(image: NodeImage): ImageHold | undefined {
    const { usage, users } = this.#options;
    return imageHold(image, new ImageUsers(users()), usage.get(image.id));
  }

  async #candidates(signal: AbortSignal): Promise<readonly ImageCandidate[]> {
    const { usage } = this.#options;
    const { images, holders } = await this.#look(signal);
    const here = new Set(images.map(({ id }) => id));
    const gone = usage.all().filter(({ id }) => !here.has(id));
    if (gone.length > 0) usage.forget(new Set(gone.map(({ id }) => id)));
    return images.map((image) => ({
      image,
      idleMs: this.#idleOf(image),
      hold: imageHold(image, holders, usage.get(image.id)),
    }));
  }

  async #look(
    signal: AbortSignal,
  ): Promise<{ readonly images: readonly NodeImage[]; readonly holders: ImageUsers }> {
    const { cri, usage, users } = this.#options;
    const listed = await cri.listImages(undefined, { signal });
    // After the images: a container that was made since is in it. Also those of others, whose pods need them.
    const containers = await cri.listContainers({}, { signal });
    const sandbox = sandboxImageName((await cri.status({ verbose: true, signal })).info);
    const used = containers.flatMap(({ id, image, imageRef, imageId, labels }): ImageUser[] => {
      const by = podOf(labels) ?? id;
      const references = [image?.image ?? "", imageRef, imageId].filter((text) => text !== "");
      return references.map((reference) => ({ reference, why: "Container", by }));
    });
    const node: ImageUser[] =
      sandbox === undefined ? [] : [{ reference: sandbox, why: "Sandbox", by: "" }];
    usage.look([...used, ...users()].map(({ reference }) => reference));
    return {
      images: uniqueImages(listed),
      holders: new ImageUsers([...node, ...used, ...users()]),
    };
  }

  #idleOf({ id }: NodeImage): number {
    return this.#options.usage.idleMs(id) ?? 0;
  }

  /** undefined = unknown for now. */
  async #space(signal: AbortSignal): Promise<DiskSpace | undefined> {
    const { cri, diskSpace, log } = this.#options;
    try {
      this.#place ??= await imagePlace(cri, signal);
      return this.#place === undefined ? undefined : diskSpace(this.#place);
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn("cannot measure the file system of images", {
        place: this.#place ?? "unknown",
        error: messageOf(error),
      });
      this.#place = undefined;
      return undefined;
    }
  }

  #recordFull(space: DiskSpace): void {
    const { policy } = this.#options;
    const bytes = bytesToLowMark(space, policy);
    const message =
      `the images' file system ${this.#place} is fuller than ${policy.highPercent} %, and no image can be removed to free ` +
      `${bytes} bytes: all are in use, protected, too new or not of this agent; free space on it, or remove images of others with crictl`;
    this.#record("FreeDiskSpaceFailed", message);
  }

  /** At most once an hour for each reason. */
  #record(reason: string, message: string): void {
    const { clock, record, nodeName } = this.#options;
    const now = clock.monotonic();
    const before = this.#recorded.get(reason);
    if (before !== undefined && now - before < EVENT_EVERY_MS) return;
    this.#recorded.set(reason, now);
    const event: NewEvent = {
      type: "Warning",
      reason,
      message,
      object: { kind: "Node", name: nodeName },
    };
    record(event);
  }
}

const SHORT_ID = /^[0-9a-f]{12,63}$/;

/** By a name, its id, or the beginning of its id. */
function isNamed(image: NodeImage, reference: string): boolean {
  const keys = referenceKeys(reference);
  if (imageKeys(image).some((key) => keys.includes(key))) return true;
  return SHORT_ID.test(reference) && image.id.startsWith(`sha256:${reference}`);
}

async function imagePlace(
  cri: Pick<Edges["cri"], "imageFsInfo">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { imageFilesystems } = await cri.imageFsInfo({ signal });
  const place = imageFilesystems[0]?.fsId?.mountpoint ?? "";
  return place === "" ? undefined : place;
}

function uniqueImages(listed: readonly Image[]): readonly NodeImage[] {
  const byId = new Map<string, NodeImage>();
  for (const image of listed.map(nodeImage)) {
    const known = byId.get(image.id);
    const merged =
      known === undefined
        ? image
        : {
            ...image,
            tags: [...known.tags, ...image.tags],
            digests: [...known.digests, ...image.digests],
            isPinned: known.isPinned || image.isPinned,
          };
    byId.set(image.id, merged);
  }
  return [...byId.values()];
}

function podOf(labels: Readonly<Record<string, string>>): string | undefined {
  const [namespace, name] = [
    labels["io.kubernetes.pod.namespace"],
    labels["io.kubernetes.pod.name"],
  ];
  return namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`;
}
