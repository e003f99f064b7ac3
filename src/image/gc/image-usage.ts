// Performs: remembers which images this agent brought, and when each was last used. It learns of pulls by watching the
// agent's own calls, and writes only when an image comes, goes, or changes between used and unused.

import type { CriClient } from "../../cri/cri-client.ts";
import type { Edges } from "../../edges.ts";
import type { Monotonic } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import type { BroughtImage, BroughtImages, ImageOrigin } from "../../store/brought-images.ts";
import { fullName, nodeImage, referenceKeys, type NodeImage } from "./image-keys.ts";

export interface ImageUsageOptions extends Pick<Edges, "clock" | "log" | "bootId" | "meter"> {
  readonly rows: Pick<BroughtImages, "all" | "get" | "put" | "forget">;
}

/** What the pulls of images need of the runtime. */
export type PullCalls = Pick<CriClient, "imageStatus" | "pullImage">;

interface DonePull {
  readonly name: string;
  /** Id of the image of that name before the pull; "" = there was none. */
  readonly before: string;
}

const IN_USE = -1;
/** Names whose last look is remembered; far more than a node's pods have. */
const REMEMBERED = 500;

export class ImageUsage {
  readonly #options: ImageUsageOptions;
  readonly #startedAt: Monotonic;
  /** In this process. */
  readonly #lastUsed = new Map<string, Monotonic>();
  /** By id; could not be written yet. */
  readonly #unwritten = new Map<string, BroughtImage>();
  /** Full name → id at the last look; "" = absent. */
  readonly #looked = new Map<string, string>();
  /** By the reference that the runtime returned. */
  readonly #done = new Map<string, readonly DonePull[]>();
  #onBrought: () => void = () => undefined;

  constructor(options: ImageUsageOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
  }

  /** The same calls. An image that a pull has added is this agent's; when in doubt it is not. */
  watch(cri: PullCalls): PullCalls {
    const imageStatus: PullCalls["imageStatus"] = async (spec, options) => {
      const image = await cri.imageStatus(spec, options);
      this.#seen(spec.image ?? "", image === undefined ? undefined : nodeImage(image));
      return image;
    };
    return {
      imageStatus,
      pullImage: async (args, options) => {
        const name = fullName(args.image.image ?? "");
        if (!this.#looked.has(name)) await imageStatus(args.image, options);
        const before = this.#looked.get(name) ?? "";
        const ref = await cri.pullImage(args, options);
        this.#done.set(ref, [...(this.#done.get(ref) ?? []), { name, before }]);
        return ref;
      },
    };
  }

  /** From now on `onBrought` is called for each image that comes. */
  follow(onBrought: () => void): void {
    this.#onBrought = onBrought;
  }

  /** This agent has brought the image under `name`. */
  brought(image: NodeImage, name: string, origin: ImageOrigin): void {
    const known = this.get(image.id);
    const keys = image.digests.flatMap(referenceKeys);
    const { meter } = this.#options;
    if (known === undefined && image.sizeBytes > 0)
      meter?.count("agent_written_bytes_total", { class: "images" }, image.sizeBytes);
    const row: BroughtImage = {
      id: image.id,
      names: added(known?.names ?? [], [fullName(name)]),
      digests: added(known?.digests ?? [], keys),
      origin: origin === "Archive" ? origin : (known?.origin ?? origin),
      idleMs: 0,
      bootId: this.#options.bootId,
      at: this.#now(),
    };
    this.#lastUsed.set(image.id, this.#now());
    this.#unwritten.set(image.id, row);
    this.#write();
    this.#onBrought();
  }

  /** What the agent brought and has not removed. */
  all(): readonly BroughtImage[] {
    const stored = this.#options.rows.all().filter(({ id }) => !this.#unwritten.has(id));
    return [...stored, ...this.#unwritten.values()];
  }

  get(id: string): BroughtImage | undefined {
    return this.#unwritten.get(id) ?? this.#options.rows.get(id);
  }

  /** Since nothing has used it; never more than is certain. undefined = not brought by this agent. */
  idleMs(id: string): number | undefined {
    const row = this.get(id);
    return row === undefined ? undefined : this.#idleOf(row);
  }

  /** `references`: of every container and pod at this moment. */
  look(references: Iterable<string>): void {
    const keys = new Set([...references].flatMap(referenceKeys));
    const used = new Set<string>();
    let isChanged = this.#unwritten.size > 0;
    for (const row of this.all()) {
      const isUsed = [row.id, ...row.names, ...row.digests].some((key) => keys.has(key));
      if (isUsed) {
        used.add(row.id);
        this.#lastUsed.set(row.id, this.#now());
      }
      if (isUsed !== (row.idleMs === IN_USE)) isChanged = true;
    }
    if (!isChanged) return;
    // All rows at once: the ages of the others are then known after a reboot too.
    for (const row of this.all()) {
      const idleMs = used.has(row.id) ? IN_USE : this.#idleOf(row);
      const { bootId } = this.#options;
      this.#unwritten.set(row.id, { ...row, idleMs, bootId, at: this.#now() });
    }
    this.#write();
  }

  /** These images are gone. */
  forget(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      this.#unwritten.delete(id);
      this.#lastUsed.delete(id);
    }
    try {
      this.#options.rows.forget(ids);
    } catch (error) {
      // A row without its image is removed by the next collection.
      this.#options.log.warn("cannot forget removed images", { error: messageOf(error) });
    }
  }

  #idleOf({ id, idleMs, bootId, at }: BroughtImage): number {
    const now = this.#now();
    const used = this.#lastUsed.get(id);
    if (used !== undefined) return Math.max(0, now - used);
    if (idleMs === IN_USE) return Math.max(0, now - this.#startedAt);
    return idleMs + Math.max(0, bootId === this.#options.bootId ? now - at : now);
  }

  #seen(reference: string, image: NodeImage | undefined): void {
    const name = fullName(reference);
    this.#looked.delete(name);
    this.#looked.set(name, image?.id ?? "");
    const [oldest] = this.#looked.keys();
    if (this.#looked.size > REMEMBERED && oldest !== undefined) this.#looked.delete(oldest);
    if (image === undefined) return;
    // A look comes before a use.
    if (this.get(image.id) !== undefined) this.#lastUsed.set(image.id, this.#now());
    const pulls = this.#done.get(reference) ?? [];
    this.#done.delete(reference);
    for (const pull of pulls)
      if (pull.before !== image.id) this.brought(image, pull.name, "Pulled");
  }

  /** What cannot be written stays in memory until the next look. */
  #write(): void {
    try {
      this.#options.rows.put([...this.#unwritten.values()]);
      this.#unwritten.clear();
    } catch (error) {
      this.#options.log.warn("cannot store which images are in use", { error: messageOf(error) });
    }
  }

  #now(): Monotonic {
    return this.#options.clock.monotonic();
  }
}

function added(known: readonly string[], more: readonly string[]): readonly string[] {
  return [...new Set([...known, ...more])];
}
