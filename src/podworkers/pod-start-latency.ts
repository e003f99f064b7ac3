// Performs: measures how long pods take to start, each once in its life. What the pod waits for is no part of its start:
// pulls, init containers, its predecessor, a hold. kubelet: PodStartupLatencyTracker

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { findContainer, isSidecar, type Pod, type PodUID } from "../api/v1/pod.ts";
import type { PodStatus } from "../api/v1/pod-status.ts";
import type { Edges } from "../edges.ts";
import type { Monotonic } from "../lib/clock.ts";
import type { StatusManager } from "../status/status-manager.ts";

interface PodStartLatencyOptions extends Pick<Edges, "clock" | "meter"> {
  readonly statuses: Pick<StatusManager, "status" | "isOver">;
}

/** A pod that has not started yet. */
interface Start {
  readonly pod: Pod;
  readonly seen: Monotonic;
  /** Nothing keeps it from starting any longer; undefined = it still waits. */
  cleared: Monotonic | undefined;
  pulls: number;
  isInitializing: boolean;
  /** Since when it pulls or initializes; undefined = it does neither. */
  waitsSince: Monotonic | undefined;
  waitedMs: number;
  hasRun: boolean;
}

export class PodStartLatency {
  readonly #options: PodStartLatencyOptions;
  readonly #starts = new Map<PodUID, Start>();

  constructor(options: PodStartLatencyOptions) {
    this.#options = options;
  }

  /** The agent sees the pod for the first time, and the runtime has nothing of it. */
  seen({ uid, pod }: DesiredPod): void {
    this.#starts.set(uid, {
      pod,
      seen: this.#options.clock.monotonic(),
      cleared: undefined,
      pulls: 0,
      isInitializing: false,
      waitsSince: undefined,
      waitedMs: 0,
      hasRun: false,
    });
  }

  /** From now on the pod may start. */
  cleared(uid: PodUID): void {
    const start = this.#starts.get(uid);
    if (start === undefined || start.cleared !== undefined) return;
    const now = this.#options.clock.monotonic();
    start.cleared = now;
    start.waitedMs = 0;
    if (start.waitsSince !== undefined) start.waitsSince = now;
  }

  /** One of its images is pulled until the result is disposed. */
  pulling(uid: PodUID): Disposable {
    const start = this.#starts.get(uid);
    const add = (change: 1 | -1): void => {
      if (start === undefined) return;
      start.pulls += change;
      this.#note(start);
    };
    add(1);
    return { [Symbol.dispose]: () => add(-1) };
  }

  /** Its status has changed. */
  changed(uid: PodUID): void {
    const start = this.#starts.get(uid);
    const status = this.#options.statuses.status(uid);
    if (start === undefined || status === undefined) return;
    if (this.#options.statuses.isOver(uid)) return this.forget(uid);
    start.isInitializing = isInitializing(start.pod, status);
    this.#note(start);
    if (status.phase !== "Running") return;
    if (!start.hasRun) this.#observe("kubelet_pod_start_duration_seconds", this.#since(start.seen));
    start.hasRun = true;
    if (!status.containerStatuses.every(({ state }) => state.running !== undefined)) return;
    this.#observe("kubelet_pod_start_total_duration_seconds", this.#since(start.seen));
    if (!isStateful(start.pod) && start.cleared !== undefined) {
      const ms = this.#since(start.cleared) - start.waitedMs;
      this.#observe("kubelet_pod_start_sli_duration_seconds", ms);
    }
    this.forget(uid);
  }

  forget(uid: PodUID): void {
    this.#starts.delete(uid);
  }

  #note(start: Start): void {
    const waits = start.pulls > 0 || start.isInitializing;
    if (waits) start.waitsSince ??= this.#options.clock.monotonic();
    if (waits || start.waitsSince === undefined) return;
    start.waitedMs += this.#since(start.waitsSince);
    start.waitsSince = undefined;
  }

  #since(then: Monotonic): number {
    return this.#options.clock.monotonic() - then;
  }

  #observe(name: PodStartMetric, ms: number): void {
    this.#options.meter?.observe(name, ms / 1000);
  }
}

type PodStartMetric =
  | "kubelet_pod_start_duration_seconds"
  | "kubelet_pod_start_sli_duration_seconds"
  | "kubelet_pod_start_total_duration_seconds";

function isInitializing({ spec }: Pod, { initContainerStatuses }: PodStatus): boolean {
  return initContainerStatuses.some(({ name, state }) => {
    const container = findContainer(spec, name);
    return state.running !== undefined && container !== undefined && !isSidecar(spec, container);
  });
}

/** k8s: the SLI is of pods that have no other volumes than these. kubelet: isStatefulPod */
function isStateful({ spec }: Pod): boolean {
  return spec.volumes.some((volume) => !STATELESS.some((kind) => kind in volume));
}

const STATELESS = ["secret", "configMap", "downwardAPI", "emptyDir"];
