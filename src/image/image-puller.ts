// Performs: ensures that an image is on the node: looks for it, decides by the pull policy, pulls.
// kubelet: EnsureImageExists

import type { EventContent } from "../api/v1/events.ts";
import type { Image } from "../cri/gen/runtime/v1/api_pb.ts";
import { nextBackoff, type BackoffEntry, type BackoffPolicy } from "../lib/backoff.ts";
import type { Edges } from "../edges.ts";
import type { Monotonic } from "../lib/clock.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import { Limiter } from "../lib/concurrency-limit.ts";
import { jitter } from "../lib/random.ts";
import type { LocalImage } from "../runtime/cri-config/security-context.ts";
import { alreadyPresent, pulled, pullFailed, pulling, refused } from "./image-events.ts";
import { normalizedName, parseImageReference, type ImageReference } from "./image-reference.ts";
import type { PullCredentials } from "./pull-secrets.ts";
import { pullFailure, type PullFailure } from "./pull-failure.ts";
import { SharedCalls } from "./shared-calls.ts";
import type { PullPolicy } from "../api/v1/image.ts";

export type ImagePullerOptions = Pick<Edges, "cri" | "clock" | "random" | "log">;

export interface EnsuredImage extends LocalImage {
  /** `LocalInstead`: the registry could not be reached, so the local image is used. */
  readonly how: "Present" | "Pulled" | "LocalInstead";
}

export interface EnsureOptions {
  readonly signal: AbortSignal;
  /** No local image is used while the registry cannot be reached. */
  readonly isStrict?: boolean;
  /** Pulls for pods of files have places, back-off and pulls of their own: those of documents do not delay them. */
  readonly isOfFile?: boolean;
  /** Called for each event, also by every caller that shares a pull. Must not throw. */
  readonly record?: (event: EventContent) => void;
  /** Credentials for the registry, looked up before a pull and tried in turn; none = anonymous. */
  readonly credentials?: (reference: ImageReference) => readonly PullCredentials[];
}

const BACKOFF: BackoffPolicy = { initial: 10_000, max: 300_000, resetAfter: 600_000 };
const BACKOFF_SPREAD = 0.1;
const MAX_PARALLEL = 3;

/** The last failed pull of one image. */
interface Failed {
  readonly backoff: BackoffEntry;
  readonly retryAt: Monotonic;
  readonly failure: PullFailure;
  readonly thrown: unknown;
}

type FoundImage = Pick<Image, "id" | "size" | "uid" | "username">;

interface DonePull {
  readonly imageRef: string;
  readonly ms: number;
}

interface Wanted extends EnsureOptions {
  /** The full name of the image: equal images have equal keys. */
  readonly key: string;
  readonly reference: ImageReference;
  /** As the pod writes it. */
  readonly image: string;
}

/** One pull, shared by all callers with the same image and credentials. */
interface Pull {
  /** Contains the credentials: it must never be logged or stored. */
  readonly key: string;
  readonly credentials: readonly PullCredentials[];
}

export class ImagePuller {
  readonly #options: ImagePullerOptions;
  readonly #places = {
    documents: new Limiter(MAX_PARALLEL),
    files: new Limiter(MAX_PARALLEL),
  };
  readonly #lookups = new SharedCalls<FoundImage | undefined>();
  readonly #pulls = new SharedCalls<DonePull>();
  readonly #failed = new Map<string, Failed>();

  constructor(options: ImagePullerOptions) {
    this.#options = options;
  }

  /**
   * Rejects with AgentError `InvalidImageName`, `ImageInspectError`, `ErrImageNeverPull`, `ErrImagePull`
   * or `ImagePullBackOff` (the last two with `retryAt`), or with the signal's reason.
   */
  async ensure(image: string, policy: PullPolicy, options: EnsureOptions): Promise<EnsuredImage> {
    try {
      const reference = parseImageReference(image);
      const key = normalizedName(reference);
      return await this.#ensure({ ...options, key, reference, image }, policy);
    } catch (error) {
      const isReported = !options.signal.aborted && error instanceof AgentError;
      for (const event of isReported ? refused(image, error) : []) options.record?.(event);
      throw error;
    }
  }

  /** The image with this reference of the runtime, if it is on the node. Rejects with AgentError `ImageInspectError`. */
  async local(ref: string, signal: AbortSignal): Promise<EnsuredImage | undefined> {
    const local = await this.#look(ref, ref, { image: ref, signal });
    return local === undefined ? undefined : ensured(local, "Present", ref);
  }

  async #ensure(wanted: Wanted, policy: PullPolicy): Promise<EnsuredImage> {
    const local = await this.#look(wanted.reference.asked, wanted.key, wanted);
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

  async #look(
    name: string,
    key: string,
    { image, signal }: Pick<Wanted, "image" | "signal">,
  ): Promise<FoundImage | undefined> {
    try {
      return await this.#lookups.run(key, signal, async (shared) =>
        this.#options.cri.imageStatus({ image: name }, { signal: shared }),
      );
    } catch (cause) {
      if (signal.aborted) throw cause;
      const message = `cannot look for image "${image}": ${messageOf(cause)}`;
      throw new AgentError({ reason: "ImageInspectError", message, cause });
    }
  }

  async #fetch(wanted: Wanted, local: FoundImage | undefined): Promise<EnsuredImage> {
    const { image, signal, record } = wanted;
    const { clock, log } = this.#options;
    const fallback = wanted.isStrict === true ? undefined : local;
    const start = clock.monotonic();
    const pull = pullOf(wanted);
    const before = this.#failed.get(pull.key);
    if (before !== undefined && start < before.retryAt) {
      if (fallback !== undefined && before.failure === "Unreachable")
        return present(wanted, fallback, "LocalInstead");
      throw backingOff(image, before);
    }
    record?.(pulling(image));
    let done: DonePull;
    try {
      done = await this.#pulls.run(pull.key, signal, (shared) => this.#pull(wanted, pull, shared));
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (fallback !== undefined && pullFailure(cause) === "Unreachable") {
        const facts = { image, error: messageOf(cause) };
        log.warn("registry not reachable, using the local image", facts);
        record?.(pullFailed(image, cause));
        return present(wanted, fallback, "LocalInstead");
      }
      throw pullError(image, cause, this.#failed.get(pull.key)?.retryAt);
    }
    return this.#pulled(wanted, done, clock.monotonic() - start);
  }

  /** Reads the user of the image, which is unknown before the pull. */
  async #pulled(wanted: Wanted, done: DonePull, waitedMs: number): Promise<EnsuredImage> {
    const { image, record } = wanted;
    let local: FoundImage | undefined;
    try {
      // By its reference: a shared look by name may have begun before the pull ended.
      local = await this.#look(done.imageRef, done.imageRef, wanted);
    } finally {
      record?.(pulled(image, { ms: done.ms, waitedMs, size: local?.size }));
    }
    if (local !== undefined) return ensured(local, "Pulled", done.imageRef);
    const message = `image "${image}" was pulled, but the runtime does not find ${done.imageRef}`;
    throw new AgentError({ reason: "ImageInspectError", message });
  }

  async #pull(
    { reference, image, isOfFile = false }: Wanted,
    { key, credentials }: Pull,
    signal: AbortSignal,
  ): Promise<DonePull> {
    const { clock, log } = this.#options;
    const places = isOfFile ? this.#places.files : this.#places.documents;
    return places.run(async () => {
      signal.throwIfAborted();
      const start = clock.monotonic();
      log.info("pulling image", { image });
      try {
        const imageRef = await this.#pullAs(credentials, reference.asked, signal);
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

  /** Tries all credentials; the last refusal counts. Other credentials do not help if the registry cannot be reached. */
  async #pullAs(
    [first, ...more]: readonly PullCredentials[],
    image: string,
    signal: AbortSignal,
  ): Promise<string> {
    const auth = first === undefined ? {} : { auth: first };
    try {
      return await this.#options.cri.pullImage({ image: { image }, ...auth }, { signal });
    } catch (error) {
      const isRefusal = ["Denied", "NotFound"].includes(pullFailure(error));
      if (more.length === 0 || !isRefusal || signal.aborted) throw error;
      return this.#pullAs(more, image, signal);
    }
  }

  #remember(key: string, thrown: unknown): void {
    const failure = pullFailure(thrown);
    // A failure of the runtime proves nothing about the image.
    if (failure === "Runtime") return;
    const now = this.#options.clock.monotonic();
    for (const [other, { backoff }] of this.#failed)
      if (now - backoff.at > BACKOFF.resetAfter) this.#failed.delete(other);
    const backoff = nextBackoff(this.#failed.get(key)?.backoff, now, BACKOFF);
    const retryAt = now + jitter(this.#options.random, backoff.delay, BACKOFF_SPREAD);
    this.#failed.set(key, { backoff, retryAt, failure, thrown });
  }
}

function pullOf({ key, reference, credentials, isOfFile = false }: Wanted): Pull {
  const fitting = credentials?.(reference) ?? [];
  const suffix = fitting.length === 0 ? "" : ` ${JSON.stringify(fitting)}`;
  return { key: `${isOfFile ? "file " : ""}${key}${suffix}`, credentials: fitting };
}

function present(
  { image, record }: Wanted,
  local: FoundImage,
  how: "Present" | "LocalInstead",
): EnsuredImage {
  record?.(alreadyPresent(image));
  return ensured(local, how);
}

function ensured(
  { id, uid, username }: FoundImage,
  how: EnsuredImage["how"],
  ref = id,
): EnsuredImage {
  const numeric = uid === undefined ? {} : { uid: Number(uid.value) };
  return { ref, username, how, ...numeric };
}

function neverPull(image: string): AgentError {
  return new AgentError({
    reason: "ErrImageNeverPull",
    message: `image "${image}" is not on this node and imagePullPolicy Never forbids pulling it`,
  });
}

function backingOff(image: string, { retryAt, thrown: cause }: Failed): AgentError {
  return new AgentError({
    reason: "ImagePullBackOff",
    message: `back-off pulling image "${image}": ${messageOf(cause)}`,
    cause,
    retryAt,
  });
}

function pullError(image: string, cause: unknown, retryAt: Monotonic | undefined): AgentError {
  return new AgentError({
    reason: "ErrImagePull",
    message: `cannot pull image "${image}": ${messageOf(cause)}`,
    cause,
    retryAt,
  });
}
