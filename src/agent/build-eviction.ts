// Performs: builds what keeps the node alive when it runs short of memory, disk or process ids.

import type { RecordEvent } from "../api/v1/events.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { AgentConfig } from "../config/config.ts";
import type { Edges } from "../edges.ts";
import { EvictedPods } from "../eviction/evicted-pods.ts";
import { EvictionManager } from "../eviction/eviction-manager.ts";
import type { ImageCollector } from "../image/gc/image-collector.ts";
import { NodeObserver } from "../eviction/observe-node.ts";
import type { PressureCondition } from "../eviction/signals.ts";
import { SpaceReserve } from "../eviction/space-reserve.ts";
import type { FieldError } from "../lib/result.ts";
import type { ShutdownState } from "../node/shutdown/shutdown-state.ts";
import { Latest } from "../lib/mailbox.ts";
import type { GarbageCollector } from "../podworkers/garbage-collector.ts";
import type { PodWorkers } from "../podworkers/pod-workers.ts";
import type { Pods } from "../podworkers/pods.ts";
import type { DesiredPods } from "../source/desired-pods.ts";
import type { Measuring } from "./build-stats.ts";

/** Built before the rooms that ask it. */
export interface NodePressure {
  readonly reserve: SpaceReserve;
  readonly evicted: EvictedPods;
  /** Conditions that hold now. */
  readonly current: Latest<ReadonlySet<PressureCondition>>;
}

interface PressureOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
}

export function buildPressure({ edges, config }: PressureOptions): NodePressure {
  const reserve = new SpaceReserve({
    ...edges,
    stateDir: config.stateDir,
    database: edges.store.database,
  });
  const evicted = new EvictedPods({ ...edges, rows: edges.store.evictions, reserve });
  return { reserve, evicted, current: new Latest<ReadonlySet<PressureCondition>>(new Set()) };
}

interface EvictionOptions extends PressureOptions {
  readonly nodeName: string;
  readonly record: RecordEvent;
  readonly pods: Pods;
  readonly workers: PodWorkers;
  readonly desired: DesiredPods;
  readonly measuring: Measuring;
  readonly pressure: NodePressure;
  readonly garbage: Pick<GarbageCollector, "collectDead">;
  readonly imageGC: Pick<ImageCollector, "collectUnused">;
  readonly isSettled: () => boolean;
  readonly onChange: () => void;
}

export function buildEviction(options: EvictionOptions): EvictionManager {
  const { edges, config, pods, workers, desired, pressure, garbage, imageGC } = options;
  const { podsCgroup, stats } = options.measuring;
  const observer = new NodeObserver({ edges, config, podsCgroup });
  return new EvictionManager({
    ...options,
    ...pressure,
    observer,
    stats,
    reclaim: {
      deadContainers: (signal) => garbage.collectDead(signal),
      images: (signal) => imageGC.collectUnused(signal),
    },
    candidates: () =>
      pods.workers.list().flatMap(({ desired: pod, removal, uid }) => {
        const runs = pods.cache.get(uid) !== undefined && !pods.statuses.isOver(uid);
        return pod !== undefined && removal === undefined && runs ? pod : [];
      }),
    stop: (pod) => workers.evict(pod),
    isLeftover: (uid) => {
      const observed = pods.cache.get(uid);
      return observed !== undefined && pods.workers.isLeftover(observed);
    },
    exists: (uid) => pods.workers.has(uid) || pods.cache.get(uid) !== undefined,
    isWanted: (uid) =>
      desired.wants(uid) || desired.state.notAdmitted.some((one) => one.desired.uid === uid),
    onPressure: pressure.current.set,
  });
}

/** What the pods' rooms ask of a pod that the node itself ends, or has ended. */
export function endedByNode({ evicted }: NodePressure, shutdown: ShutdownState) {
  return {
    graceByNode: (uid: PodUID): number | undefined => shutdown.grace(uid) ?? evicted.grace(uid),
    endedByNode: (uid: PodUID): Pick<FieldError, "code" | "message"> | undefined => {
      const message = evicted.message(uid);
      return message === undefined ? shutdown.stopped(uid) : { code: "Evicted", message };
    },
  };
}
