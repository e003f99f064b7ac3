// Performs: stores which containers of a pod are stopped to be replaced, so that the next process does not take their exit
// codes for theirs. If the disk cannot be written, the stop happens anyway, and only this process knows.

import { type ObservedPod, type KilledInstances, newestStarted } from "../api/pod/observed-pod.ts";
import { allContainers, type Pod, type PodUID } from "../api/v1/pod.ts";
import { exitMayBeLast, restartsAfterKill } from "../api/pod/restart-policy.ts";
import type { Store } from "../store/store.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";

interface KillMarksOptions {
  readonly uid: PodUID;
  readonly rows: Pick<Store["killed"], "get" | "put" | "settle">;
  readonly log: Logger;
}

export class KillMarks {
  readonly #options: KillMarksOptions;

  constructor(options: KillMarksOptions) {
    this.#options = options;
  }

  get known(): KilledInstances {
    const { rows, uid } = this.#options;
    return rows.get(uid);
  }

  /**
   * Called before the first stop: the next process must know that the containers did not end by themselves. Only those whose
   * restart may depend on the exit code need a row.
   */
  write({ spec }: Pod, killed: KilledInstances): void {
    const { rows, uid, log } = this.#options;
    const needed = allContainers(spec).flatMap((container) => {
      const instance = killed.get(container.name);
      if (instance === undefined || !exitMayBeLast(spec, container)) return [];
      const comesBack = instance.always || restartsAfterKill(spec, container);
      return comesBack ? [[container.name, instance] as const] : [];
    });
    try {
      rows.put(uid, new Map(needed));
    } catch (error) {
      log.warn("cannot store which containers are being replaced", {
        uid,
        error: messageOf(error),
      });
    }
  }

  /** Removes the rows of containers that have a started successor, or that the runtime no longer has. */
  settle(observed: ObservedPod | undefined): void {
    const { rows, uid, log } = this.#options;
    const settled = [...this.known]
      .filter(([container, { id }]) => newestStarted(observed, container)?.id !== id)
      .map(([container]) => container);
    try {
      rows.settle(uid, settled);
    } catch (error) {
      log.warn("cannot remove the rows of replaced containers", { uid, error: messageOf(error) });
    }
  }
}
