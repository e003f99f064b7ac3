// Performs: periodically removes volumes, logs, cgroups and rows that no pod owns, left by a lost database or by a pod that
// was deleted while the agent did not run. kubelet: cleanupOrphanedPodDirs, cleanupOrphanedPodCgroups, evictPodLogsDirectories

import type { Edges } from "../edges.ts";
import type { Store } from "../store/store.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { Hand } from "../store/start-guard/hand.ts";
import type { WorkGuard } from "../store/start-guard/start-guard.ts";
import { messageOf } from "../lib/errors.ts";
import { jitter } from "../lib/random.ts";
import type { PodCleanup } from "../podworkers/pod-cleanup.ts";
import type { Volumes } from "../volume/volume-manager.ts";

interface HousekeepingOptions extends Pick<Edges, "clock" | "random" | "log"> {
  readonly volumes: Volumes;
  readonly guard: WorkGuard;
  readonly cleanup: PodCleanup;
  /** Rows of the containers that were killed to be replaced, by pod. */
  readonly killed: Pick<Store["killed"], "pods" | "forget">;
  /** Rows of the pods that have failed as a whole. */
  readonly failures: Pick<Store["failures"], "pods" | "forget">;
  readonly isInUse: (uid: PodUID) => boolean;
  /** Whether a pod of this namespace/name is desired, or still exists. */
  readonly isNamed: (name: string) => boolean;
  /** Every source has synced and the runtime's pods are known. */
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
      if (signal.aborted || !this.#options.isSettled()) continue;
      await this.#guard("cannot remove volumes that no pod owns", () => this.#sweepVolumes(signal));
      await this.#guard("cannot remove logs that no pod owns", () => this.#sweepLogs());
      await this.#guard("cannot remove rows that no pod owns", () => this.#sweepRows());
    }
  }

  /** What fails now is tried again by the next sweep. */
  async #guard(message: string, sweep: () => void | Promise<void>): Promise<void> {
    try {
      await sweep();
    } catch (error) {
      this.#options.log.warn(message, { error: messageOf(error) });
    }
  }

  async #sweepVolumes(signal: AbortSignal): Promise<void> {
    const { volumes, cleanup, isInUse, log, clock, guard } = this.#options;
    for (const uid of volumes.leftovers()) {
      const hand: Hand = { kind: "Removal", id: uid, name: uid };
      // What has ended the agent twice is left to a later sweep (start-guard).
      if (isInUse(uid) || guard.waits(hand) !== undefined) continue;
      using held = guard.hold(hand);
      log.info("RemoveVolumes", { uid, reason: "no pod owns them" });
      // In steps, between which pods are synced: this one may be wanted again.
      for (const _ of volumes.emptyLargeVolumes(uid)) {
        await clock.sleep(0, signal);
        if (signal.aborted || isInUse(uid)) break;
      }
      if (signal.aborted) return;
      if (!isInUse(uid)) {
        // The directory in stateDir goes last: it is what shows that the logs are the agent's own.
        cleanup.removeOrphan(uid);
        volumes.tearDown(uid);
      }
      held.settle();
    }
  }

  #sweepLogs(): void {
    const { cleanup, isNamed, log } = this.#options;
    for (const directory of cleanup.leftovers(isNamed)) {
      log.info("RemoveLogs", { directory, reason: "no pod has their name" });
      cleanup.removeLeftover(directory);
    }
  }

  #sweepRows(): void {
    const { killed, failures, isInUse } = this.#options;
    for (const rows of [killed, failures])
      for (const uid of rows.pods()) if (!isInUse(uid)) rows.forget(uid);
  }
}
