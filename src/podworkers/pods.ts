// Performs: holds the pods of this node: their state in the runtime, their statuses, their workers. Built before the rooms
// that change it, so that every room can read it.

import {
  NOTHING_DESIRED,
  type DesiredPod,
  type DesiredState,
  type Removal,
} from "../api/pod/desired-pod.ts";
import { podName, type NamedPod, type Pod, type PodUID } from "../api/v1/pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { PodCache } from "../pleg/pod-cache.ts";
import type { AdmissionRank } from "../source/admission/admission.ts";
import { isStatic, type SourceName } from "../api/pod/labels.ts";
import { StatusManager } from "../status/status-manager.ts";
import { nameOf } from "./plan-workers.ts";
import type { PodWorker } from "./pod-worker.ts";
import { withoutUndefined } from "../lib/json.ts";
import { CONFIG_ERROR } from "../lib/errors.ts";
import { START_GUARD } from "../store/start-guard/start-guard.ts";

export interface Pods {
  /** The runtime's state. */
  readonly cache: PodCache;
  readonly statuses: StatusManager;
  readonly workers: WorkerRegistry;
}

export function noPods(): Pods {
  const cache = new PodCache();
  return { cache, statuses: new StatusManager(), workers: new WorkerRegistry(cache) };
}

/** The pods that run or are being stopped, and are not among `known`. */
export function strangersTo(
  known: readonly DesiredPod[],
  { workers, cache }: Pods,
): readonly (NamedPod & { readonly uid: PodUID })[] {
  const uids = new Set(known.map(({ uid }) => uid));
  return [...workers.leaving(), ...cache.all().values()].filter(({ uid }) => !uids.has(uid));
}

/** A pod as shown under its namespace/name. */
export interface WorkerEntry {
  readonly desired: DesiredPod;
  /** Wall-clock milliseconds when its removal began. */
  readonly deletedAt?: number;
  /** A successor that pulls or waits while this pod still runs. */
  readonly pendingUpdate?: {
    readonly specHash: string;
    readonly reason: string;
    readonly message: string;
  };
}

/** Why a desired pod does not start yet. */
export interface WhyPending {
  readonly reason: string;
  readonly message: string;
}

export const PULLING = { reason: "Pulling", message: "pulling the images of the new spec" };
export const STOPPING = { reason: "Stopping", message: "waiting for the old pod to stop" };
export const DEPENDENCY = "DependencyNotReady";
/** A pod that waits for one of these pulls no image. */
const NOT_PULLING = [STOPPING.reason, DEPENDENCY, CONFIG_ERROR, START_GUARD];

/** One worker per pod UID. Only PodWorkers adds and removes; only PodReplacement changes what is pending. */
export class WorkerRegistry {
  readonly #cache: Pick<PodCache, "get">;
  readonly #workers = new Map<PodUID, PodWorker>();
  readonly #pending = new Map<PodUID, WhyPending>();
  /** namespace/name → the desired pod. */
  #current: ReadonlyMap<string, DesiredPod> = new Map();
  #ready: DesiredState["ready"] = NOTHING_DESIRED.ready;

  constructor(cache: Pick<PodCache, "get">) {
    this.#cache = cache;
  }

  add(worker: PodWorker): void {
    this.#workers.set(worker.uid, worker);
  }

  remove(uid: PodUID): void {
    this.#workers.delete(uid);
    this.#pending.delete(uid);
  }

  get(uid: PodUID): PodWorker | undefined {
    return this.#workers.get(uid);
  }

  list(): readonly PodWorker[] {
    return [...this.#workers.values()];
  }

  /** `ready`: the sources that have synced. */
  setDesired({ pods, ready }: Pick<DesiredState, "pods" | "ready">): void {
    this.#current = new Map(pods.map((desired) => [nameOf(desired.pod.metadata), desired]));
    this.#ready = ready;
  }

  /** The desired pod of `namespace/name`. */
  desired(name: string): DesiredPod | undefined {
    return this.#current.get(name);
  }

  /** Also true for a name without a desired pod: until its source has synced, its pod keeps running. */
  isCurrent(worker: PodWorker): boolean {
    const current = this.#current.get(nameOf(worker));
    return current === undefined || current.uid === worker.uid;
  }

  /**
   * Whether the pod is not desired although its source has synced, and has no worker: an earlier process began it, and it
   * is left only because a successor of its name waits.
   */
  isLeftover({ uid, source, ...pod }: ObservedPod): boolean {
    const isDesired = this.#current.get(nameOf(pod))?.uid === uid;
    const hasSynced = source !== undefined && this.#ready.has(source);
    return hasSynced && !isDesired && !this.#workers.has(uid);
  }

  setPending(uid: PodUID, why: WhyPending): void {
    this.#pending.set(uid, why);
  }

  clearPending(uid: PodUID): void {
    this.#pending.delete(uid);
  }

  pending(uid: PodUID): WhyPending | undefined {
    return this.#pending.get(uid);
  }

  /** Whether the pod waits for images before it takes over its name. */
  isPulling(uid: PodUID): boolean {
    const reason = this.#pending.get(uid)?.reason;
    return reason !== undefined && !NOT_PULLING.includes(reason);
  }

  /** Whether the UID has a worker, in whatever phase. */
  has(uid: PodUID): boolean {
    return this.#workers.has(uid);
  }

  /** Whether a pod of this namespace/name has a worker, in whatever phase. */
  hasName(name: string): boolean {
    return this.list().some((worker) => nameOf(worker) === name);
  }

  /** Whether its worker is removing it, and observes it by itself. */
  isBusy(uid: PodUID): boolean {
    return this.#workers.get(uid)?.phase === "Terminating";
  }

  /** Every pod that has a worker and a spec, including predecessors and pods being removed. */
  all(): readonly WorkerEntry[] {
    return this.list().flatMap((worker) =>
      worker.desired === undefined ? [] : entryOf(worker, worker.desired),
    );
  }

  /** The specs of `all()`. */
  desiredPods(): readonly DesiredPod[] {
    return this.list().flatMap(({ desired }) => desired ?? []);
  }

  /** Every pod that is being removed, including those without a spec. */
  leaving(): readonly Removal[] {
    return this.list().flatMap(({ removal }) => removal ?? []);
  }

  /** One entry per namespace/name: the pod that runs, or the one that will. */
  entries(): readonly WorkerEntry[] {
    const byName = Map.groupBy(
      this.list().filter(({ desired }) => desired !== undefined),
      nameOf,
    );
    return [...byName.values()].flatMap((workers) => this.#entry(workers) ?? []);
  }

  /** The pod that `entries` shows under `namespace/name`. */
  shown(name: string): DesiredPod | undefined {
    return this.entries().find(({ desired }) => podName(desired.pod) === name)?.desired;
  }

  /** Something about the pod may have changed: its worker syncs again. */
  notify(uid: PodUID): void {
    this.#workers.get(uid)?.notify();
  }

  /** The status of some pod changed: workers that wait for a dependency sync again. */
  notifyDependents(): void {
    for (const [uid, { reason }] of this.#pending) if (reason === DEPENDENCY) this.notify(uid);
  }

  #entry(workers: readonly PodWorker[]): WorkerEntry | undefined {
    const current = workers.find((worker) => this.isCurrent(worker));
    const before = workers.find((worker) => worker !== current && this.exists(worker));
    const shown = before ?? current ?? workers[0];
    if (shown?.desired === undefined) return undefined;
    const entry = entryOf(shown, shown.desired);
    if (shown !== before || current?.desired === undefined) return entry;
    const why = this.pending(current.uid) ?? PULLING;
    return { ...entry, pendingUpdate: { specHash: current.desired.specHash, ...why } };
  }

  /** Whether the runtime has anything of it. */
  exists(worker: PodWorker): boolean {
    return this.#cache.get(worker.uid) !== undefined;
  }
}

/**
 * Ranks pods when there is not room for all: a pod that runs, or is about to, is not evicted for a new one of the same kind
 * of source. A pod that is being removed has no claim to its place, nor has a leftover, whose place others may have by now,
 * and a pod of a file inherits none from a document. As the runtime is now.
 */
export function admissionRanks(
  { cache, workers }: Pick<Pods, "cache" | "workers">,
  removals: readonly Removal[],
): (desired: DesiredPod) => AdmissionRank {
  const why = new Map(removals.map((removal) => [removal.uid, removal.why]));
  const byName = Map.groupBy(cache.all().values(), nameOf);
  const counts = (observed: ObservedPod, source: SourceName): boolean => {
    const known = workers.get(observed.uid)?.desired?.source ?? observed.source;
    return !isStatic(source) || known === undefined || isStatic(known);
  };
  return ({ uid, pod, source }) => {
    const own = cache.get(uid);
    const keeps = own !== undefined && !why.has(uid) && !workers.isLeftover(own);
    if (keeps && counts(own, source)) return 0;
    const hasOlder = (byName.get(podName(pod)) ?? []).some(
      (other) =>
        other.uid !== uid &&
        (why.get(other.uid) ?? "Replaced") === "Replaced" &&
        counts(other, source),
    );
    // Admitted, although the runtime shows nothing of it yet.
    const worker = workers.get(uid);
    const known = worker?.removal === undefined ? worker?.desired?.source : undefined;
    const isAdmitted = known !== undefined && (!isStatic(source) || isStatic(known));
    return hasOlder || (isAdmitted && !why.has(uid)) ? 1 : 2;
  };
}

/** Whether the pod has ended for good and nothing of it runs: a failed pod takes its room until it has stopped. */
export function takesNoRoom(
  { cache, statuses }: Pick<Pods, "cache" | "statuses">,
  uid: PodUID,
): boolean {
  const containers = cache.get(uid)?.containers ?? [];
  return statuses.isOver(uid) && containers.every(({ state }) => state !== "Running");
}

/** Pods that have not ended. */
export function activePods({ workers, statuses }: Pick<Pods, "workers" | "statuses">): Pod[] {
  const active = workers.desiredPods().filter(({ uid }) => !statuses.isOver(uid));
  return active.map(({ pod }) => pod);
}

function entryOf({ removedAt: deletedAt }: PodWorker, desired: DesiredPod): WorkerEntry {
  return { desired, ...withoutUndefined({ deletedAt }) };
}
