// Performs: removes old containers and sandboxes of a pod. kubelet: container GC

import type { Edges } from "../edges.ts";
import { podName } from "../api/v1/pod.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { planGarbage } from "../runtime/decide/dead-containers.ts";
import type { PodConfigs } from "../runtime/pod-configs.ts";
import type { PodLook } from "./pod-sync-state.ts";

const AGAIN_MS = 60_000;

export interface GarbageOptions extends Pick<Edges, "clock" | "log" | "files" | "cri"> {
  readonly configs: Pick<PodConfigs, "terminationLog">;
}

/** Returns when to retry after a failure. */
export async function collectGarbage(
  { desired, observed, syncState }: PodLook,
  { cri, files, configs, clock, log }: GarbageOptions,
): Promise<Monotonic | undefined> {
  if (observed === undefined) return undefined;
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
