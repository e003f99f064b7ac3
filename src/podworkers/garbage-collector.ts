// Performs: removes old containers and sandboxes of a pod. kubelet: container GC

import type { Edges } from "../edges.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { podName } from "../api/v1/pod.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { planGarbage } from "../runtime/decide/garbage.ts";
import type { PodConfigs } from "../runtime/decide/action-input.ts";
import type { PodSyncState } from "./pod-sync-state.ts";

export interface GarbageCollectorOptions extends Pick<Edges, "clock" | "log" | "files" | "cri"> {
  readonly configs: Pick<PodConfigs, "terminationLog">;
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
