// Performs: ensures that an image is on the node: looks for it, decides by the pull policy, pulls.
// kubelet: EnsureImageExists

import type { EventContent } from "../api/v1/events.ts";
import type { PullLimits } from "../config/image-config.ts";
import type { Image } from "../cri/gen/runtime/v1/api_pb.ts";
import type { PullMeter } from "../containerd/measure-pull.ts";
import type { CallHeaders } from "../containerd/pull-edge.ts";
import { CriError } from "../cri/cri-error.ts";
import type { CallSettings } from "../cri/grpc-connection.ts";
import type { Edges } from "../edges.ts";
import { AgentError, messageOf } from "../lib/errors.ts";
import type { LocalImage } from "../runtime/cri-config/security-context.ts";
import {
  alreadyPresent,
  pulled,
  pullFailed,
  pulling,
  pullingBytes,
  refused,
} from "./image-events.ts";
import { normalizedName, parseImageReference, type ImageReference } from "./image-reference.ts";
import type { PullCredentials } from "./keyring.ts";
import { backingOff, neverPull, pullError } from "./pull-errors.ts";
import { PullBackoff } from "./pull-backoff.ts";
import { pullFailure } from "./pull-failure.ts";
import { bytesText, imageSizeLabel, type ImageBytes, type PullBoard } from "./pull-progress.ts";
import { PullTurns } from "./pull-turns.ts";
import type { PullCalls } from "./gc/image-usage.ts";
import { SharedCalls } from "./shared-calls.ts";
import { watchPull } from "./watch-pull.ts";
import type { PullPolicy } from "../api/v1/image.ts";

export interface ImagePullerOptions extends Pick<
  Edges,
  "clock" | "random" | "log" | "pulls" | "meter"
> {
  readonly cri: PullCalls;
  readonly limits: PullLimits;
  readonly board: PullBoard;
}

/** Resolves to whether the image has come from an archive; never rejects. */
interface BringImage {
  bring(reference: ImageReference, signal: AbortSignal): Promise<boolean>;
}

export interface EnsuredImage extends LocalImage {
  /** `LocalInstead`: the registry could not be reached, so the local image is used. */
  readonly how: "Present" | "Pulled" | "LocalInstead";
}

export interface EnsureOptions {
  readonly signal: AbortSignal;
  /** No local image is used while the registry cannot be reached. */
  readonly isStrict?: boolean;
  /** Pulls for pods of files have places and back-off of their own: those of documents do not delay them. */
  readonly isOfFile?: boolean;
  /** By a person who waits: no back-off. */
  readonly isOrdered?: boolean;
  /** Called for each event, also by every caller that shares a pull. Must not throw. */
  readonly record?: (event: EventContent) => void;
  /** Called when a pull begins that the caller waits for; disposed at its end. Must not throw. */
  readonly pulling?: () => Disposable;
  /** Credentials for the registry, looked up before a pull; absent = anonymous. */
  readonly access?: (reference: ImageReference) => PullAccess;
}

/** How a pull proves itself. Contains credentials: it must never be logged or stored. */
export interface PullAccess {
  /** Pulls with equal keys are shared, and wait for one back-off. "" = anonymous. */
  readonly key: string;
  /** Tried in turn; none = anonymous. */
  list(signal: AbortSignal): AsyncIterable<PullCredentials>;
  /** The registry has refused all of them, or a pull without any. */
  refused?(): void;
}

const ANONYMOUS: PullAccess = { key: "", async *list() {} };

const FIRST_PROGRESS_MS = 30_000;

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

type PullSettings = CallSettings & { readonly signal: AbortSignal };

/** One pull, shared by all callers with the same image and credentials. */
interface Pull {
  /** Contains the credentials: it must never be logged or stored. */
  readonly key: string;
  readonly access: PullAccess;
}

export class ImagePuller {
  readonly #options: ImagePullerOptions;
  readonly #turns: PullTurns;
  readonly #lookups = new SharedCalls<FoundImage | undefined>();
  readonly #pulls = new SharedCalls<DonePull>();
  readonly #failed: PullBackoff;
  #archives: BringImage | undefined;

  constructor(options: ImagePullerOptions) {
    this.#options = options;
    this.#turns = new PullTurns(options);
    this.#failed = new PullBackoff(options);
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

  /** From now on an image that is missing may come from an archive. */
  useArchives(archives: BringImage | undefined): void {
    this.#archives = archives;
  }

  /** The image with this reference of the runtime, if it is on the node. Rejects with AgentError `ImageInspectError`. */
  async local(ref: string, signal: AbortSignal): Promise<EnsuredImage | undefined> {
    const local = await this.#look(ref, ref, { image: ref, signal });
    return local === undefined ? undefined : ensured(local, "Present", ref);
  }

  async #ensure(wanted: Wanted, policy: PullPolicy): Promise<EnsuredImage> {
    const local = await this.#lookOrBring(wanted);
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

  async #lookOrBring(wanted: Wanted): Promise<FoundImage | undefined> {
    const { reference, key, signal } = wanted;
    const local = await this.#look(reference.asked, key, wanted);
    if (local !== undefined || this.#archives === undefined) return local;
    if (!(await this.#archives.bring(reference, signal))) return undefined;
    // A shared look may have begun before the import.
    return this.#look(reference.asked, `${key} from an archive`, wanted);
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
    const failedKey = failedKeyOf(pull, wanted);
    const before = wanted.isOrdered === true ? undefined : this.#failed.of(failedKey);
    if (before !== undefined && start < before.retryAt) {
      if (fallback !== undefined && before.failure === "Unreachable")
        return present(wanted, fallback, "LocalInstead");
      throw backingOff(image, before);
    }
    record?.(pulling(image));
    let done: DonePull;
    try {
      done = await this.#awaitPull(wanted, pull);
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (fallback !== undefined && pullFailure(cause) === "Unreachable") {
        const facts = { image, error: messageOf(cause) };
        log.warn("registry not reachable, using the local image", facts);
        record?.(pullFailed(image, cause));
        return present(wanted, fallback, "LocalInstead");
      }
      throw pullError(image, cause, this.#failed.of(failedKey)?.retryAt);
    }
    return this.#pulled(wanted, done, clock.monotonic() - start);
  }

  /** Others may wait for the same one. */
  async #awaitPull(wanted: Wanted, pull: Pull): Promise<DonePull> {
    const ended = new AbortController();
    using _ = wanted.pulling?.();
    void this.#reportProgress(wanted, ended.signal);
    try {
      const done = this.#pulls.run(pull.key, wanted.signal, (shared) =>
        this.#pull(wanted, pull, shared),
      );
      if (wanted.isOfFile === true) this.#turns.promote(pull.key);
      return await done;
    } finally {
      ended.abort();
    }
  }

  /** An event for each pod, more and more seldom: the first after half a minute, the next after one, two, four … */
  async #reportProgress({ image, record }: Wanted, ended: AbortSignal): Promise<void> {
    const { clock, board } = this.#options;
    for (let pause = FIRST_PROGRESS_MS; ; pause *= 2) {
      await clock.sleep(pause, ended);
      if (ended.aborted) return;
      const bytes = board.of(image);
      if (bytes !== undefined) record?.(pullingBytes(image, bytesText(bytes)));
    }
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
      const labels = { image_size_in_bytes: imageSizeLabel(local?.size) };
      this.#options.meter?.observe("kubelet_image_pull_duration_seconds", waitedMs / 1000, labels);
    }
    if (local !== undefined) return ensured(local, "Pulled", done.imageRef);
    const message = `image "${image}" was pulled, but the runtime does not find ${done.imageRef}`;
    throw new AgentError({ reason: "ImageInspectError", message });
  }

  async #pull(
    { key: image, reference, isOfFile = false }: Wanted,
    pull: Pull,
    signal: AbortSignal,
  ): Promise<DonePull> {
    const { clock, log, pulls, board } = this.#options;
    using turn = await this.#turns.take({ key: pull.key, image, isOfFile }, signal);
    const start = clock.monotonic();
    const meter = pulls.measure(reference);
    log.info("pulling image", { image: reference.asked });
    let isOver = true;
    try {
      const headers = await this.#keep(image, signal);
      const onBytes = (bytes: ImageBytes): void => board.set(image, bytes);
      const imageRef = await watchPull(
        (limited) => this.#pullAs(pull.access, reference.asked, { headers, signal: limited }),
        { clock, signal, meter, onBytes },
      );
      for (const lane of LANES) this.#failed.forget(failedKeyOf(pull, lane));
      const ms = Math.round(clock.monotonic() - start);
      log.info("pulled image", { image: reference.asked, imageRef, ms });
      return { imageRef, ms };
    } catch (thrown) {
      isOver = signal.aborted;
      if (isOver) throw thrown;
      const arrived = await arrivedBytes(meter, signal);
      // A failure for a pod of a file counts for all, one for a document's only for those of documents.
      const lanes = LANES.filter((lane) => turn.isOfFile || !lane.isOfFile);
      for (const lane of lanes) this.#failed.remember(failedKeyOf(pull, lane), thrown, arrived);
      throw thrown;
    } finally {
      board.delete(image);
      // Before the next pull of this image may begin.
      if (isOver) await this.#forget(image);
    }
  }

  /** Without it the pull begins anew each time. */
  async #keep(image: string, signal: AbortSignal): Promise<CallHeaders> {
    const { pulls, log } = this.#options;
    try {
      return await pulls.keep(image, signal);
    } catch (error) {
      signal.throwIfAborted();
      const facts = { image, error: messageOf(error) };
      log.warn("if this pull fails, the next one begins anew", facts);
      return {};
    }
  }

  async #forget(image: string): Promise<void> {
    const { pulls, log } = this.#options;
    try {
      await pulls.forget(image);
    } catch (error) {
      // The runtime forgets it by itself.
      const facts = { image, error: messageOf(error) };
      log.debug("what has arrived of an image is kept for a day", facts);
    }
  }

  /** Tries all credentials; the last refusal counts. Other credentials do not help if the registry cannot be reached. */
  async #pullAs(access: PullAccess, image: string, settings: PullSettings): Promise<string> {
    const { cri } = this.#options;
    const { signal } = settings;
    let refusal: CriError | undefined;
    for await (const auth of access.list(signal)) {
      try {
        return await cri.pullImage({ image: { image }, auth }, settings);
      } catch (error) {
        const isRefusal = ["Denied", "NotFound"].includes(pullFailure(error));
        if (!(error instanceof CriError) || !isRefusal || signal.aborted) throw error;
        refusal = error;
      }
    }
    if (refusal !== undefined) {
      access.refused?.();
      throw refusal;
    }
    try {
      return await cri.pullImage({ image: { image } }, settings);
    } catch (error) {
      if (pullFailure(error) === "Denied") access.refused?.();
      throw error;
    }
  }
}

/** 0 = unknown. */
async function arrivedBytes(meter: PullMeter, signal: AbortSignal): Promise<number> {
  try {
    return (await meter.read(signal))?.bytes?.done ?? 0;
  } catch {
    // The failure of the pull itself is what counts.
    return 0;
  }
}

const LANES = [{ isOfFile: true }, { isOfFile: false }] as const;

function pullOf({ key, reference, access }: Wanted): Pull {
  const found = access?.(reference) ?? ANONYMOUS;
  return { key: found.key === "" ? key : `${key} ${found.key}`, access: found };
}

/** Of the back-off: other credentials begin anew. */
function failedKeyOf({ key }: Pull, { isOfFile = false }: Pick<EnsureOptions, "isOfFile">): string {
  return isOfFile ? `file ${key}` : key;
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
