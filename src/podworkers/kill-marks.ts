// Performs: writes down which containers of a pod are ended so that others take their place, for the process after this
// one. A disk that cannot be written keeps no unwell container running: then only this process remembers.

import { newestStarted } from "../api/pod/newest-observed.ts";
import type { ObservedPod, KilledInstances } from "../api/pod/observed-pod.ts";
import { allContainers, type Pod, type PodUID } from "../api/v1/pod.ts";
import { exitMayBeLast, restartsAfterKill } from "../api/pod/restart-policy.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";

/** Where they are written. */
export interface KilledRows {
  get(uid: PodUID): KilledInstances;
  /** On the disk when it returns. */
  put(uid: PodUID, killed: KilledInstances): void;
  settle(uid: PodUID, containers: readonly string[]): void;
}

export interface KillMarksOptions {
  readonly uid: PodUID;
  readonly rows: KilledRows;
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

  /** Before the first stop. Whom no exit code could end for good, or nothing could bring back, needs no row. */
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
      log.warn("killed containers cannot be written down", { uid, error: messageOf(error) });
    }
  }

  /** Strikes out those that another instance, once it was started, has followed, or that the runtime has no more. */
  settle(observed: ObservedPod | undefined): void {
    const { rows, uid, log } = this.#options;
    const settled = [...this.known]
      .filter(([container, { id }]) => newestStarted(observed, container)?.id !== id)
      .map(([container]) => container);
    try {
      rows.settle(uid, settled);
    } catch (error) {
      log.warn("killed containers stay written down", { uid, error: messageOf(error) });
    }
  }
}
