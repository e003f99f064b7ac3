// Performs: keeps which pods were evicted and may not run yet. A row outlives the process; where the disk is full the record
// is in memory only, and the eviction goes on: after a crash the pod then runs as if it had not been evicted.

import { nextBackoff, retryAt, type BackoffEntry, type BackoffPolicy } from "../lib/backoff.ts";
import type { Edges } from "../edges.ts";
import type { PodUID } from "../api/v1/pod.ts";
import { messageOf } from "../lib/errors.ts";
import type { Evictions, EvictionRow } from "../store/evictions.ts";
import type { SpaceReserve } from "./space-reserve.ts";

/** Unlike a crash, an eviction costs the flash a download or a volume: it is repeated less often. */
export const EVICTION_BACKOFF: BackoffPolicy = {
  initial: 30_000,
  max: 1_800_000,
  resetAfter: 7_200_000,
};

export interface EvictedPodsOptions extends Pick<Edges, "clock" | "log"> {
  readonly rows: Pick<Evictions, "all" | "put" | "forget">;
  readonly reserve: Pick<SpaceReserve, "release">;
}

export class EvictedPods {
  readonly #options: EvictedPodsOptions;
  readonly #held: Map<PodUID, EvictionRow>;
  readonly #backoff = new Map<PodUID, BackoffEntry>();

  constructor(options: EvictedPodsOptions) {
    this.#options = options;
    this.#held = new Map(options.rows.all().map((row) => [row.uid, row]));
    // Evicted by an earlier process: the back-off begins anew.
    for (const uid of this.#held.keys()) this.#backOff(uid);
  }

  /** Pods that may not run. */
  all(): readonly EvictionRow[] {
    return [...this.#held.values()];
  }

  /** Why the pod may not run; undefined = it may. */
  message(uid: PodUID): string | undefined {
    return this.#held.get(uid)?.message;
  }

  /** Seconds that it gets to end; undefined = it was not evicted. */
  grace(uid: PodUID): number | undefined {
    return this.#held.get(uid)?.grace;
  }

  /** Before the pod is stopped. */
  add(row: EvictionRow): void {
    this.#held.set(row.uid, row);
    this.#backOff(row.uid);
    const { rows, reserve, log } = this.#options;
    try {
      try {
        rows.put(row);
      } catch (error) {
        // The disk may be what is full.
        if (!reserve.release()) throw error;
        rows.put(row);
      }
    } catch (error) {
      const about = { pod: `${row.namespace}/${row.name}`, error: messageOf(error) };
      log.warn("cannot store that a pod is evicted; a restart of the agent forgets it", about);
    }
  }

  /** When its back-off is over. */
  mayReturnAt(uid: PodUID): number {
    return retryAt(this.#backoff.get(uid));
  }

  /** From now on it may run. Throws if that cannot be stored: it waits on. */
  release(uid: PodUID): void {
    this.#options.rows.forget(uid);
    this.#held.delete(uid);
  }

  /** Back-off of pods that will not come again. */
  forgetBackoff(isKnown: (uid: PodUID) => boolean): void {
    for (const uid of this.#backoff.keys()) if (!isKnown(uid)) this.#backoff.delete(uid);
  }

  #backOff(uid: PodUID): void {
    const now = this.#options.clock.monotonic();
    this.#backoff.set(uid, nextBackoff(this.#backoff.get(uid), now, EVICTION_BACKOFF));
  }
}
