// Removes volumes that no pod owns any more: only a lost database leaves some. Waits for local facts only. kubelet: cleanupOrphanedPodDirs

import type { PodUID } from "../api/pod.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { jitter, type Random } from "../lib/random.ts";
import type { Volumes } from "../volume/mount-volumes.ts";

export interface HousekeepingOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly volumes: Volumes;
  readonly isInUse: (uid: PodUID) => boolean;
  /** Every source has spoken and the runtime is known. */
  readonly isSettled: () => boolean;
}

const EVERY_MS = 600_000;

export class Housekeeping {
  readonly #options: HousekeepingOptions;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(jitter(random, EVERY_MS, 0.2), signal);
      if (!signal.aborted && this.#options.isSettled()) this.#sweep();
    }
  }

  #sweep(): void {
    const { volumes, isInUse, log } = this.#options;
    try {
      for (const uid of volumes.leftovers()) {
        if (isInUse(uid)) continue;
        log.info("RemoveVolumes", { uid, reason: "no pod owns them" });
        volumes.tearDown(uid);
      }
    } catch (error) {
      log.warn("volumes of pods that are gone stay", { error: messageOf(error) });
    }
  }
}
