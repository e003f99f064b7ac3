// Performs: fetches the images of updates that are on hold, so that they start at once when released.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import type { Edges } from "../edges.ts";
import { messageOf } from "../lib/errors.ts";

export interface PrefetchOptions extends Pick<Edges, "clock" | "log"> {
  /** All images of some pod are on this node. */
  readonly onFetched: () => void;
}

/** Resolves when all images of the pod are on this node. */
type FetchImages = (pod: Pod, signal: AbortSignal) => Promise<void>;

interface Fetch {
  readonly abort: AbortController;
  /** Timer of the next try; undefined = running or done. */
  again: Disposable | undefined;
}

const AGAIN_MS = 300_000;

export class Prefetch implements Disposable {
  readonly #options: PrefetchOptions;
  readonly #fetches = new Map<PodUID, Fetch>();
  #fetchImages: FetchImages | undefined;

  constructor(options: PrefetchOptions) {
    this.#options = options;
  }

  /** Nothing is fetched before this call: updates are judged before images can be fetched. */
  start(fetchImages: FetchImages): void {
    this.#fetchImages = fetchImages;
  }

  /** `pods`: all that wait now. Other fetches are aborted. */
  want(pods: readonly DesiredPod[]): void {
    const wanted = new Map(pods.map((desired) => [desired.uid, desired]));
    for (const [uid, { abort, again }] of this.#fetches) {
      if (wanted.has(uid)) continue;
      abort.abort();
      again?.[Symbol.dispose]();
      this.#fetches.delete(uid);
    }
    const fetchImages = this.#fetchImages;
    if (fetchImages === undefined) return;
    for (const [uid, { pod }] of wanted)
      if (!this.#fetches.has(uid)) void this.#fetch(uid, pod, fetchImages);
  }

  [Symbol.dispose](): void {
    this.want([]);
  }

  async #fetch(uid: PodUID, pod: Pod, fetchImages: FetchImages): Promise<void> {
    const { clock, log } = this.#options;
    const fetch: Fetch = { abort: new AbortController(), again: undefined };
    this.#fetches.set(uid, fetch);
    try {
      await fetchImages(pod, fetch.abort.signal);
      if (!fetch.abort.signal.aborted) this.#options.onFetched();
    } catch (error) {
      if (fetch.abort.signal.aborted) return;
      fetch.again = clock.after(AGAIN_MS, () => void this.#fetch(uid, pod, fetchImages));
      log.warn("cannot fetch the images of a held update", { uid, error: messageOf(error) });
    }
  }
}
