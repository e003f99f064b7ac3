// Performs: keeps the node alive when it runs short of memory, disk or process ids: it looks rarely, frees what no pod
// needs first, then ends one pod after the other, and lets them return when the pressure is over. kubelet: eviction manager

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import {
  podEvent,
  type EventContent,
  type RecordEvent,
  normal,
  warning,
} from "../api/v1/events.ts";
import { podName, type NamedPod, type PodUID } from "../api/v1/pod.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { AgentConfig } from "../config/config.ts";
import type { Edges } from "../edges.ts";
import { earliest } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { PodStats } from "../stats/pod-stats.ts";
import type { EvictedPods } from "./evicted-pods.ts";
import { evictionMessage, pressureConditions } from "./eviction-message.ts";
import {
  limitsStorage,
  storageExcess,
  STORAGE_SIGNALS,
  type StorageExcess,
} from "./local-storage.ts";
import type { NodeObserver } from "./observe-node.ts";
import { rankPods } from "./rank-pods.ts";
import {
  ALL_SIGNALS,
  SIGNALS,
  type Observations,
  type PressureCondition,
  type Signal,
} from "./signals.ts";
import type { SpaceReserve } from "./space-reserve.ts";
import {
  actingThresholds,
  isMemoryNear,
  isMet,
  LOOK_MS,
  nextPressure,
  NO_PRESSURE,
  thresholdsOf,
  type PressureState,
  type Threshold,
} from "./thresholds.ts";

/** What frees disk without ending a pod. Each resolves when it has done what it can; a failure is only logged. */
export interface Reclaim {
  deadContainers(signal: AbortSignal): Promise<unknown>;
  /** Images that no pod uses. */
  images(signal: AbortSignal): Promise<unknown>;
}

export interface EvictionManagerOptions {
  readonly edges: Pick<Edges, "clock" | "log" | "meter">;
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly record: RecordEvent;
  readonly observer: NodeObserver;
  readonly stats: Pick<PodStats, "measure">;
  readonly evicted: EvictedPods;
  readonly reserve: Pick<SpaceReserve, "keep">;
  readonly reclaim: Reclaim;
  /** Pods that the runtime has, that have not ended and are not being removed. */
  readonly candidates: () => readonly DesiredPod[];
  /** Begins to end the pod for good. */
  readonly stop: (pod: NamedPod & { readonly uid: PodUID }) => void;
  /** Whether the pod runs without a worker: an earlier process stored its eviction and ended before it stopped the pod. */
  readonly isLeftover: (uid: PodUID) => boolean;
  /** Whether anything of the pod is left. */
  readonly exists: (uid: PodUID) => boolean;
  readonly isWanted: (uid: PodUID) => boolean;
  /** Every pod of the sources and of the runtime has its worker: nothing is ended before. */
  readonly isSettled: () => boolean;
  /** Conditions that hold now. */
  readonly onPressure: (current: ReadonlySet<PressureCondition>) => void;
  /** Other pods may start now than before. */
  readonly onChange: () => void;
}

/** kubelet: immediateEvictionGracePeriodSeconds */
const IMMEDIATE_SECONDS = 1;
const DEFAULT_GRACE_SECONDS = 30;
/** kubelet: podCleanupTimeout, podCleanupPollFreq */
const CLEANUP_MS = 30_000;
const CLEANUP_POLL_MS = 1_000;
/** After an eviction the runtime still frees what the pod had: another pod goes no sooner. */
const AFTER_EVICTION_MS = 5_000;
const ANSWER_MS = 1_000;
/** Of a pod that has so many files that they take longer, those counted by then rank it. */
const MEASURE_POD_MS = 10_000;
/** Disks are walked no more often than this for pods that limit what they store. */
const STORAGE_MS = 60_000;
/** With PSI the node is looked at sooner when tasks have waited for memory for as long as this since the last look. */
const STALL_MS = 50;
/** How often the counter of PSI is read near a threshold of memory: a read takes microseconds. */
const STALL_LOOK_MS = 1_000;

/** How long until the next look. */
interface Pause {
  readonly ms: number;
  /** Whether tasks that wait for memory bring it forward. */
  readonly endsWithStall: boolean;
}

/** Why and how a pod ends. */
interface Eviction {
  readonly signal: Signal | StorageExcess["signal"];
  readonly message: string;
  readonly condition: string;
  readonly grace: number;
}

export class EvictionManager {
  readonly #options: EvictionManagerOptions;
  readonly #thresholds: readonly Threshold[];
  #state: PressureState = NO_PRESSURE;

  constructor(options: EvictionManagerOptions) {
    this.#options = options;
    this.#thresholds = thresholdsOf(options.config);
    const { evicted, edges } = options;
    // What had evicted them may last: the transition period begins anew with each process.
    const now = edges.clock.monotonic();
    const conditions = evicted.all().flatMap(({ condition }) => conditionNamed(condition) ?? []);
    this.#state = { ...NO_PRESSURE, conditions: new Map(conditions.map((one) => [one, now])) };
    options.onPressure(this.pressure);
    // A counter that appears with its first eviction would hide that one from rate() and increase().
    for (const eviction_signal of [...ALL_SIGNALS, ...STORAGE_SIGNALS])
      edges.meter?.count("kubelet_evictions", { eviction_signal }, 0);
  }

  /** Conditions that hold now. */
  get pressure(): ReadonlySet<PressureCondition> {
    return new Set(this.#state.conditions.keys());
  }

  conditions(): readonly NodeCondition[] {
    return pressureConditions(this.pressure);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#relieveNode(signal), this.#keepStorageLimits(signal)]);
  }

  async #relieveNode(signal: AbortSignal): Promise<void> {
    const { edges } = this.#options;
    while (!signal.aborted) {
      let pause: Pause = { ms: LOOK_MS.usual, endsWithStall: false };
      try {
        pause = await this.#look(signal);
      } catch (error) {
        if (signal.aborted) return;
        edges.log.error("cannot relieve the node", { error: messageOf(error) });
      }
      await this.#pause(pause, signal);
    }
  }

  /** A loop of its own: a pod with millions of files takes minutes to measure, while others may take the memory. */
  async #keepStorageLimits(signal: AbortSignal): Promise<void> {
    const { edges, isSettled } = this.#options;
    while (!signal.aborted) {
      try {
        if (isSettled()) await this.#enforceStorage(signal);
      } catch (error) {
        if (signal.aborted) return;
        edges.log.error("cannot enforce limits of storage", { error: messageOf(error) });
      }
      await edges.clock.sleep(STORAGE_MS, signal);
    }
  }

  async #pause({ ms, endsWithStall }: Pause, signal: AbortSignal): Promise<void> {
    const { edges, observer } = this.#options;
    const { clock } = edges;
    const stalled = endsWithStall ? observer.stallMs() : undefined;
    if (stalled === undefined) return clock.sleep(ms, signal);
    const until = clock.monotonic() + ms;
    for (let left = ms; left > 0 && !signal.aborted; left = until - clock.monotonic()) {
      await clock.sleep(Math.min(left, STALL_LOOK_MS), signal);
      const now = observer.stallMs();
      if (now !== undefined && now - stalled > STALL_MS) return;
    }
  }

  async #look(signal: AbortSignal): Promise<Pause> {
    const { edges, evicted, reserve, isSettled, observer } = this.#options;
    // A runtime that does not answer delays no look.
    await Promise.race([observer.prepare(signal), edges.clock.sleep(ANSWER_MS, signal)]);
    const observed = this.#observe();
    if (!this.pressure.has("DiskPressure")) reserve.keep();
    if (isSettled()) {
      if (this.#letReturn() || (await this.#relieve(observed, signal)))
        return { ms: AFTER_EVICTION_MS, endsWithStall: false };
    }
    const now = edges.clock.monotonic();
    const due = earliest(
      evicted
        .all()
        .map(({ uid }) => evicted.mayReturnAt(uid))
        .filter((at) => at > now),
    );
    const ms = Math.max(
      LOOK_MS.soonest,
      Math.min(LOOK_MS.usual, (due ?? now + LOOK_MS.usual) - now),
    );
    // What acts already has done what it can: stalls give it nothing more to do.
    const endsWithStall = this.#acting().length === 0 && isMemoryNear(this.#thresholds, observed);
    return { ms, endsWithStall };
  }

  #observe(): Observations {
    const { edges, observer, config, onPressure, onChange } = this.#options;
    const before = this.pressure;
    const observations = observer.observe();
    this.#state = nextPressure(this.#state, {
      thresholds: this.#thresholds,
      observations,
      now: edges.clock.monotonic(),
      transitionMs: config.evictionPressureTransitionPeriod,
    });
    const after = this.pressure;
    const changed = [...before, ...after].filter((one) => before.has(one) !== after.has(one));
    for (const condition of changed) this.#noteCondition(condition, after.has(condition));
    if (changed.length === 0) return observations;
    onPressure(after);
    onChange();
    return observations;
  }

  /** Whether a pod was evicted. */
  async #relieve(observed: Observations, signal: AbortSignal): Promise<boolean> {
    const acting = this.#acting();
    const [first] = acting;
    if (first === undefined) return false;
    const { resource } = SIGNALS[first.signal];
    this.#note(warning("EvictionThresholdMet", `Attempting to reclaim ${resource}`));
    const after = await this.#reclaimNode(first, observed, signal);
    const left = acting.find((threshold) => isMet(threshold, after, true));
    return left !== undefined && (await this.#evictFor(left, after, signal));
  }

  #acting(): readonly Threshold[] {
    return actingThresholds(this.#state);
  }

  /** Frees what no pod needs, where that lies on the file system that is short of space. */
  async #reclaimNode(
    threshold: Threshold,
    observed: Observations,
    signal: AbortSignal,
  ): Promise<Observations> {
    const { reclaim, observer } = this.#options;
    const { fileSystem } = SIGNALS[threshold.signal];
    const hasImages = fileSystem === "imagefs" || !observer.hasOwnImageFs;
    if (fileSystem === undefined || !hasImages) return observed;
    await this.#try("dead containers", () => reclaim.deadContainers(signal));
    await this.#try("images", () => reclaim.images(signal));
    signal.throwIfAborted();
    return observer.observe();
  }

  async #try(what: string, run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.#options.edges.log.warn("cannot free space", { what, error: messageOf(error) });
    }
  }

  async #evictFor(
    threshold: Threshold,
    observed: Observations,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { candidates, stats, config, observer, edges } = this.#options;
    const { resource, condition, fileSystem } = SIGNALS[threshold.signal];
    const room = observed.get(threshold.signal);
    const pods = candidates();
    if (room === undefined || pods.length === 0) return false;
    const asked = { disk: fileSystem !== undefined, podMs: MEASURE_POD_MS };
    const usages = await stats.measure(pods, asked, signal);
    // Measuring may take long: by now the node may have recovered, and pods may have ended.
    if (!isMet(threshold, observer.observe(), true)) return false;
    const current = new Set(candidates().map(({ uid }) => uid));
    const parts = {
      layers: fileSystem === "imagefs" || !observer.hasOwnImageFs,
      local: fileSystem === "nodefs" || !observer.hasOwnImageFs,
    };
    const ranked = rankPods(pods, { ...config, resource, parts, usages });
    const desired = ranked.find(({ uid }) => current.has(uid));
    if (desired === undefined) {
      edges.log.warn("nothing can be evicted", { signal: threshold.signal, pods: pods.length });
      return false;
    }
    const usage = usages.get(desired.uid);
    const message = evictionMessage(desired.pod, { threshold, room, usage });
    await this.#evict(
      desired,
      { signal: threshold.signal, message, condition, grace: this.#grace(threshold, desired) },
      signal,
    );
    return true;
  }

  #grace({ softGraceMs }: Threshold, { pod }: DesiredPod): number {
    if (softGraceMs === undefined) return IMMEDIATE_SECONDS;
    const own = pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
    // kubelet: calculateEffectiveGracePeriod, no pod gets less than a second.
    const { evictionMaxPodGracePeriod: most } = this.#options.config;
    return Math.max(IMMEDIATE_SECONDS, Math.min(own, most));
  }

  /** Evicts the pods that have more on disk than they may. */
  async #enforceStorage(signal: AbortSignal): Promise<void> {
    const { candidates, stats } = this.#options;
    const pods = candidates().filter(({ pod }) => limitsStorage(pod));
    if (pods.length === 0) return;
    const usages = await stats.measure(pods, { disk: true }, signal);
    for (const desired of pods) {
      const usage = usages.get(desired.uid);
      const excess = usage === undefined ? undefined : storageExcess(desired.pod, usage);
      // It may have ended since.
      if (excess === undefined || !candidates().some(({ uid }) => uid === desired.uid)) continue;
      await this.#evict(desired, { ...excess, condition: "", grace: IMMEDIATE_SECONDS }, signal);
    }
  }

  async #evict(
    desired: DesiredPod,
    { signal: eviction_signal, ...why }: Eviction,
    signal: AbortSignal,
  ): Promise<void> {
    const { edges, evicted, record, stop, exists } = this.#options;
    const { uid, pod } = desired;
    const { namespace, name } = pod.metadata;
    const row = { uid, namespace, name, ...why };
    edges.log.info("Evict", { pod: podName(pod), uid, message: why.message, grace: why.grace });
    evicted.add(row);
    edges.meter?.count("kubelet_evictions", { eviction_signal });
    record(podEvent(pod.metadata, warning("Evicted", why.message)));
    stop(row);
    for (let waited = 0; waited < CLEANUP_MS && exists(uid); waited += CLEANUP_POLL_MS) {
      await edges.clock.sleep(CLEANUP_POLL_MS, signal);
      signal.throwIfAborted();
    }
  }

  /** Pods whose pressure and back-off are over, and unwanted ones; stops what an earlier process has not: true = it did. */
  #letReturn(): boolean {
    const { edges, evicted, exists, isWanted, isLeftover, stop, record, onChange } = this.#options;
    const now = edges.clock.monotonic();
    const leftovers = evicted.all().filter(({ uid }) => isWanted(uid) && isLeftover(uid));
    for (const leftover of leftovers) stop(leftover);
    let changed = false;
    for (const row of evicted.all()) {
      const { uid, condition } = row;
      if (exists(uid)) continue;
      const wanted = isWanted(uid);
      const presses = this.pressure.has(conditionNamed(condition) ?? "MemoryPressure");
      if (wanted && ((condition !== "" && presses) || now < evicted.mayReturnAt(uid))) continue;
      evicted.release(uid);
      changed = true;
      if (!wanted) continue;
      const message = "The node has what the pod needs again; it starts anew";
      record(podEvent(row, normal("EvictionOver", message)));
    }
    if (changed) onChange();
    evicted.forgetBackoff((uid) => isWanted(uid));
    return leftovers.length > 0;
  }

  #noteCondition(condition: PressureCondition, isMet: boolean): void {
    const { nodeName } = this.#options;
    const [reason] = TRANSITIONS[condition].slice(isMet ? 0 : 1);
    const event = isMet ? warning : normal;
    this.#note(event(reason ?? condition, `Node ${nodeName} status is now: ${reason}`));
  }

  #note(event: EventContent): void {
    const { record, nodeName } = this.#options;
    record({ ...event, object: { kind: "Node", name: nodeName } });
  }
}

/** kubelet: the events of MemoryPressureCondition, DiskPressureCondition, PIDPressureCondition */
const TRANSITIONS: Readonly<Record<PressureCondition, readonly [met: string, calm: string]>> = {
  MemoryPressure: ["NodeHasInsufficientMemory", "NodeHasSufficientMemory"],
  DiskPressure: ["NodeHasDiskPressure", "NodeHasNoDiskPressure"],
  PIDPressure: ["NodeHasInsufficientPID", "NodeHasSufficientPID"],
};

function conditionNamed(name: string): PressureCondition | undefined {
  return Object.values(SIGNALS).find(({ condition }) => condition === name)?.condition;
}
