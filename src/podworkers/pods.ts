// Performs: the rooms of all pods of this node, as their neighbours above use them.

import type { PodCache } from "../pleg/pod-cache.ts";
import type { PodLifecycle } from "../pleg/pod-lifecycle.ts";
import type { PodWorkers } from "./pod-workers.ts";
import type { StatusManager } from "../status/status-manager.ts";
import type { PodRemains } from "./pod-remains.ts";
import type { Pod } from "../api/v1/pod.ts";

export interface Pods {
  readonly cache: PodCache;
  readonly lifecycle: PodLifecycle;
  readonly workers: PodWorkers;
  readonly statuses: StatusManager;
  readonly remains: PodRemains;
  /** Resolves when all images of the pod are on this node. */
  readonly fetchImages: (pod: Pod, signal: AbortSignal) => Promise<void>;
}
