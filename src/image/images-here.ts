// Performs: looks whether all images of a pod are on this node, without asking any registry.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import type { Edges } from "../edges.ts";
import { messageOf } from "../lib/errors.ts";

export interface ImagesHereOptions extends Pick<Edges, "clock" | "log"> {
  /** What is known of a pod has changed. */
  readonly onChange: () => void;
}

/** Whether none would have to be downloaded; one that must be asked for at its registry counts as here once it was. */
export type LookForImages = (pod: Pod, signal: AbortSignal) => Promise<boolean>;

/** So old may an answer be. */
const KNOWN_MS = 60_000;
/** Far more pods than wait at a time. */
const REMEMBERED = 500;

export class ImagesHere implements Disposable {
  readonly #options: ImagesHereOptions;
  readonly #stop = new AbortController();
  readonly #known = new Map<PodUID, { readonly areHere: boolean; readonly at: number }>();
  readonly #looking = new Set<PodUID>();
  #look: LookForImages | undefined;

  constructor(options: ImagesHereOptions) {
    this.#options = options;
  }

  /** Nothing is looked for before this call: updates are judged before images can be. */
  start(look: LookForImages): void {
    this.#look = look;
  }

  /** As far as is known by now; what is not known is looked up. */
  areHere({ uid, pod }: DesiredPod): boolean {
    const known = this.#known.get(uid);
    const isFresh = known !== undefined && this.#now() - known.at < KNOWN_MS;
    if (!isFresh) void this.#lookUp(uid, pod);
    return known?.areHere === true;
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }

  async #lookUp(uid: PodUID, pod: Pod): Promise<void> {
    const { log, onChange } = this.#options;
    if (this.#look === undefined || this.#looking.has(uid)) return;
    this.#looking.add(uid);
    const before = this.#known.get(uid)?.areHere;
    try {
      const areHere = await this.#look(pod, this.#stop.signal);
      this.#known.delete(uid);
      this.#known.set(uid, { areHere, at: this.#now() });
      const [oldest] = this.#known.keys();
      if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
      if (areHere !== (before ?? false)) onChange();
    } catch (error) {
      if (!this.#stop.signal.aborted)
        log.debug("cannot look for images", { uid, error: messageOf(error) });
    } finally {
      this.#looking.delete(uid);
    }
  }
}
