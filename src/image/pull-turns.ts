// Performs: gives pulls their turns: one of an image at a time, so many at once, so many begun per second.

import type { PullLimits } from "../config/image-config.ts";
import type { Edges } from "../edges.ts";
import { takeToken, type TokenBucket } from "../lib/token-bucket.ts";

export interface WantedTurn {
  /** Of the pull: the image with its credentials. */
  readonly key: string;
  readonly image: string;
  readonly isOfFile: boolean;
}

export interface PullTurn extends Disposable {
  /** A pod of a file waits for this pull; it may have joined later. */
  readonly isOfFile: boolean;
}

type Lane = "files" | "documents";

interface Entry {
  readonly key: string;
  readonly image: string;
  isOfFile: boolean;
  /** Where it has taken its place; a pull that is promoted later keeps it. */
  lane?: Lane;
  readonly begin: () => void;
}

export interface PullTurnsOptions extends Pick<Edges, "clock"> {
  readonly limits: PullLimits;
}

/**
 * Pods of files have places of their own, as many as those of documents: a pull may take hours on a slow line, and what
 * documents ask for must not keep a file's pod waiting for so long.
 */
export class PullTurns {
  readonly #options: PullTurnsOptions;
  /** In their order. */
  readonly #waiting = new Set<Entry>();
  readonly #running = new Set<Entry>();
  readonly #taken: Record<Lane, number> = { files: 0, documents: 0 };
  #bucket: TokenBucket | undefined;

  constructor(options: PullTurnsOptions) {
    this.#options = options;
  }

  /** Resolves when the pull may begin; dispose the turn when it has ended. Rejects with the signal's reason. */
  async take({ key, image, isOfFile }: WantedTurn, signal: AbortSignal): Promise<PullTurn> {
    signal.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const entry: Entry = { key, image, isOfFile, begin: () => resolve(undefined) };
    const leave = (): void => {
      if (this.#waiting.delete(entry)) resolve(undefined);
    };
    this.#waiting.add(entry);
    signal.addEventListener("abort", leave, { once: true });
    this.#fill();
    await promise;
    signal.removeEventListener("abort", leave);
    const turn = this.#turnOf(entry);
    try {
      await this.#awaitToken(signal);
      signal.throwIfAborted();
    } catch (error) {
      turn[Symbol.dispose]();
      throw error;
    }
    return turn;
  }

  /** A pod of a file waits for this pull from now on. */
  promote(key: string): void {
    for (const entry of [...this.#waiting, ...this.#running])
      if (entry.key === key) entry.isOfFile = true;
    this.#fill();
  }

  #fill(): void {
    for (const entry of this.#waiting) {
      const lane = entry.isOfFile ? "files" : "documents";
      const isPulled = [...this.#running].some(({ image }) => image === entry.image);
      if (isPulled || this.#taken[lane] >= this.#options.limits.parallel) continue;
      this.#waiting.delete(entry);
      this.#running.add(entry);
      this.#taken[lane] += 1;
      entry.lane = lane;
      entry.begin();
    }
  }

  #turnOf(entry: Entry): PullTurn {
    return {
      get isOfFile(): boolean {
        return entry.isOfFile;
      },
      [Symbol.dispose]: (): void => {
        if (!this.#running.delete(entry)) return;
        if (entry.lane !== undefined) this.#taken[entry.lane] -= 1;
        this.#fill();
      },
    };
  }

  /** Unlike the kubelet, which fails a pull above the rate, it waits: a failure would cost a back-off of ten seconds. */
  async #awaitToken(signal: AbortSignal): Promise<void> {
    const { clock, limits } = this.#options;
    const { perSecond, burst } = limits;
    while (perSecond > 0 && !signal.aborted) {
      const bucket = takeToken(this.#bucket, clock.monotonic(), { perSecond, burst });
      this.#bucket = bucket ?? this.#bucket;
      if (bucket !== undefined) return;
      await clock.sleep(1_000 / perSecond, signal);
    }
  }
}
