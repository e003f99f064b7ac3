// Performs: removes old containers and sandboxes of a pod. kubelet: container GC

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { podName } from "../api/v1/pod.ts";
import type { CriClient } from "../cri/cri-client.ts";
import type { Files } from "../host/files.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { planGarbage } from "../runtime/decide/garbage.ts";
import type { PodConfigs } from "../runtime/decide/action-input.ts";
import type { PodSyncState } from "./pod-sync-state.ts";

export interface GarbageCollectorOptions {
  readonly cri: CriClient;
  readonly files: Files;
  readonly configs: Pick<PodConfigs, "terminationLog">;
  readonly clock: Clock;
  readonly log: Logger;
}

const AGAIN_MS = 60_000;

export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
  }

  /** Returns when to retry after a failure. */
  async collect(
    desired: DesiredPod,
    observed: ObservedPod | undefined,
    syncState: PodSyncState,
  ): Promise<Monotonic | undefined> {
    if (observed === undefined) return undefined;
    const { cri, files, configs, clock, log } = this.#options;
    const garbage = planGarbage(observed);
    if (garbage.containers.length + garbage.sandboxes.length === 0) return undefined;
    syncState.unsure = true;
    try {
      for (const { id, name, attempt } of garbage.containers) {
        await cri.removeContainer(id);
        files.remove(configs.terminationLog(desired, name, attempt));
      }
      for (const id of garbage.sandboxes) await cri.removePodSandbox(id);
    } catch (error) {
      log.debug("garbage stays", { pod: podName(desired.pod), error: messageOf(error) });
      return clock.monotonic() + AGAIN_MS;
    }
    return undefined;
  }
}
