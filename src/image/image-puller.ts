// Makes sure that an image is on the node: asks, decides by the pull policy, pulls. kubelet: EnsureImageExists

import type { Said } from "../api/events.ts";
import type { PullPolicy } from "../api/pod.ts";
import type { ImageServiceClient } from "../cri/cri-client.ts";
import { nextBackoff, type BackoffEntry, type BackoffPolicy } from "../lib/backoff.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import { Limiter } from "../lib/limiter.ts";
import type { Logger } from "../lib/logger.ts";
import { jitter, type Random } from "../lib/random.ts";
import { alreadyPresent, pulled, pullFailed, pulling, refused } from "./image-events.ts";
import { normalizedName, parseImageReference, type ImageReference } from "./image-reference.ts";
import { pullFailure, type PullFailure } from "./pull-failure.ts";
import { SharedCalls } from "./shared-calls.ts";

export interface ImagePullerOptions {
  readonly cri: Pick<ImageServiceClient, "imageStatus" | "pullImage">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** `maxParallelImagePulls`; default 3. */
  readonly maxParallelPulls?: number;
}

export interface EnsuredImage {
  /** What the runtime calls the image: its ID. */
  readonly imageRef: string;
  /** `LocalInstead`: the registry could not be reached, so the image that was here stands in. */
  readonly how: "Present" | "Pulled" | "LocalInstead";
}

export interface EnsureOptions {
  readonly signal: AbortSignal;
  /** Hears what is worth an event; whoever shares a pull with others hears it too. Must not throw. */
  readonly record?: (said: Said) => void;
}

const BACKOFF: BackoffPolicy = { initial: 10_000, max: 300_000, resetAfter: 600_000 };
const BACKOFF_SPREAD = 0.1;
const MAX_PARALLEL = 3;

/** The last failed pull of one image. */
interface Failed {
  readonly backoff: BackoffEntry;
  readonly retryAt: Monotonic;
  readonly failure: PullFailure;
  readonly message: string;
}

interface LocalImage {
  readonly id: string;
  /** Bytes. */
  readonly size: bigint;
}

interface DonePull {
  readonly imageRef: string;
  readonly ms: number;
}

interface Wanted {
  /** The image's full name: what is the same image is the same key. */
  readonly key: string;
  readonly reference: ImageReference;
  /** As the pod writes it. */
  readonly image: string;
  readonly signal: AbortSignal;
  readonly record: ((said: Said) => void) | undefined;
}

export class ImagePuller {
  readonly #options: ImagePullerOptions;
  readonly #places: Limiter;
  readonly #lookups = new SharedCalls<LocalImage | undefined>();
  readonly #pulls = new SharedCalls<DonePull>();
  readonly #failed = new Map<string, Failed>();

  constructor(options: ImagePullerOptions) {
    this.#options = options;
    this.#places = new Limiter(options.maxParallelPulls ?? MAX_PARALLEL);
  }

  /**
   * Rejects with AgentError `InvalidImageName`, `ImageInspectError`, `ErrImageNeverPull`, `ErrImagePull`
   * or `ImagePullBackOff` (the last two with `retryAt`), or with the signal's reason.
   */
  async ensure(
    image: string,
    policy: PullPolicy,
    { signal, record }: EnsureOptions,
  ): Promise<EnsuredImage> {
    try {
      const reference = parseImageReference(image);
      const key = normalizedName(reference);
      return await this.#ensure({ key, reference, image, signal, record }, policy);
    } catch (error) {
      const isNews = !signal.aborted && error instanceof AgentError;
      for (const said of isNews ? refused(image, error) : []) record?.(said);
      throw error;
    }
  }

  async #ensure(wanted: Wanted, policy: PullPolicy): Promise<EnsuredImage> {
    const local = await this.#find(wanted);
    switch (policy) {
      case "Never":
        if (local === undefined) throw neverPull(wanted.image);
        return present(wanted, local, "Present");
      case "IfNotPresent":
        if (local !== undefined) return present(wanted, local, "Present");
        return this.#fetch(wanted, local);
      case "Always":
        return this.#fetch(wanted, local);
    }
  }

  async #find({ key, reference, image, signal }: Wanted): Promise<LocalImage | undefined> {
    try {
      return await this.#lookups.run(key, signal, async (shared) => {
        const status = { image: reference.asked };
        return this.#options.cri.imageStatus(status, { signal: shared });
      });
    } catch (cause) {
      if (signal.aborted) throw cause;
      const message = `cannot look for image "${image}": ${messageOf(cause)}`;
      throw new AgentError({ reason: "ImageInspectError", message, cause });
    }
  }

  async #fetch(wanted: Wanted, local: LocalImage | undefined): Promise<EnsuredImage> {
    const { key, image, signal, record } = wanted;
    const { clock, log } = this.#options;
    const start = clock.monotonic();
    const before = this.#failed.get(key);
    if (before !== undefined && start < before.retryAt) {
      if (local !== undefined && before.failure === "Unreachable")
        return present(wanted, local, "LocalInstead");
      throw backingOff(image, before);
    }
    record?.(pulling(image));
    try {
      const done = await this.#pulls.run(key, signal, (shared) => this.#pull(wanted, shared));
      await this.#tellPulled(wanted, done.ms, clock.monotonic() - start);
      return { imageRef: done.imageRef, how: "Pulled" };
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (local !== undefined && pullFailure(cause) === "Unreachable") {
        const facts = { image, error: messageOf(cause) };
        log.warn("registry not reachable, using the image that is here", facts);
        record?.(pullFailed(image, cause));
        return present(wanted, local, "LocalInstead");
      }
      throw pullError(image, cause, this.#failed.get(key)?.retryAt);
    }
  }

  /** Never rejects: the image is here, whatever can be told of it. */
  async #tellPulled(wanted: Wanted, ms: number, waitedMs: number): Promise<void> {
    if (wanted.record === undefined) return;
    let size: bigint | undefined;
    try {
      size = (await this.#find(wanted))?.size;
    } catch (error) {
      this.#options.log.debug("the size is not known", { error: messageOf(error) });
    }
    wanted.record(pulled(wanted.image, { ms, waitedMs, size }));
  }

  async #pull({ key, reference, image }: Wanted, signal: AbortSignal): Promise<DonePull> {
    const { cri, clock, log } = this.#options;
    return this.#places.run(async () => {
      signal.throwIfAborted();
      const start = clock.monotonic();
      log.info("pulling image", { image });
      try {
        const spec = { image: { image: reference.asked } };
        const imageRef = await cri.pullImage(spec, { signal });
        this.#failed.delete(key);
        const ms = Math.round(clock.monotonic() - start);
        log.info("pulled image", { image, imageRef, ms });
        return { imageRef, ms };
      } catch (thrown) {
        if (!signal.aborted) this.#remember(key, thrown);
        throw thrown;
      }
    });
  }

  #remember(key: string, thrown: unknown): void {
    const failure = pullFailure(thrown);
    // A runtime that is away says nothing about the image.
    if (failure === "Runtime") return;
    const now = this.#options.clock.monotonic();
    for (const [other, { backoff }] of this.#failed)
      if (now - backoff.at > BACKOFF.resetAfter) this.#failed.delete(other);
    const backoff = nextBackoff(this.#failed.get(key)?.backoff, now, BACKOFF);
    const retryAt = now + jitter(this.#options.random, backoff.delay, BACKOFF_SPREAD);
    this.#failed.set(key, { backoff, retryAt, failure, message: messageOf(thrown) });
  }
}

function present(
  { image, record }: Wanted,
  { id }: LocalImage,
  how: "Present" | "LocalInstead",
): EnsuredImage {
  record?.(alreadyPresent(image));
  return { imageRef: id, how };
}

function neverPull(image: string): AgentError {
  return new AgentError({
    reason: "ErrImageNeverPull",
    message: `image "${image}" is not on this node and imagePullPolicy Never forbids pulling it`,
  });
}

function backingOff(image: string, { retryAt, message }: Failed): AgentError {
  return new AgentError({
    reason: "ImagePullBackOff",
    message: `back-off pulling image "${image}": ${message}`,
    retryAt,
  });
}

function pullError(image: string, cause: unknown, retryAt: Monotonic | undefined): AgentError {
  return new AgentError({
    reason: "ErrImagePull",
    message: `cannot pull image "${image}": ${messageOf(cause)}`,
    cause,
    ...(retryAt === undefined ? {} : { retryAt }),
  });
}
