// Performs: fetches the images of updates that are held, so that they begin at once when they may.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";

export interface PrefetchOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Resolves when all images of the pod are on this node. */
  readonly fetchImages: (pod: Pod, signal: AbortSignal) => Promise<void>;
  /** All images of a pod are here. */
  readonly onFetched: () => void;
}

interface Fetch {
  readonly abort: AbortController;
  /** For the next try; undefined = it is under way, or done. */
  again: Disposable | undefined;
}

const AGAIN_MS = 300_000;

export class Prefetch implements Disposable {
  readonly #options: PrefetchOptions;
  readonly #fetches = new Map<PodUID, Fetch>();

  constructor(options: PrefetchOptions) {
    this.#options = options;
  }

  /** Fetches for these pods, and aborts what is under way for others. */
  want(pods: readonly DesiredPod[]): void {
    const wanted = new Map(pods.map((desired) => [desired.uid, desired]));
    for (const [uid, { abort, again }] of this.#fetches) {
      if (wanted.has(uid)) continue;
      abort.abort();
      again?.[Symbol.dispose]();
      this.#fetches.delete(uid);
    }
    for (const [uid, { pod }] of wanted) if (!this.#fetches.has(uid)) void this.#fetch(uid, pod);
  }

  [Symbol.dispose](): void {
    this.want([]);
  }

  async #fetch(uid: PodUID, pod: Pod): Promise<void> {
    const { clock, log, fetchImages } = this.#options;
    const fetch: Fetch = { abort: new AbortController(), again: undefined };
    this.#fetches.set(uid, fetch);
    try {
      await fetchImages(pod, fetch.abort.signal);
      if (!fetch.abort.signal.aborted) this.#options.onFetched();
    } catch (error) {
      if (fetch.abort.signal.aborted) return;
      fetch.again = clock.after(AGAIN_MS, () => void this.#fetch(uid, pod));
      log.warn("cannot fetch the images of a held update", { uid, error: messageOf(error) });
    }
  }
}
