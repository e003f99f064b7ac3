// One worker per pod UID, latest wins; the only place where workers begin and end. kubelet: pod workers

import { NOTHING_DESIRED, type DesiredPod, type DesiredState } from "../api/desired-pod.ts";
import type { ObservedPod } from "../api/observed-pod.ts";
import type { Container, PodUID } from "../api/pod.ts";
import type { Removal } from "../api/removal.ts";
import type { BackoffPolicy } from "../lib/backoff.ts";
import type { Clock } from "../lib/clock.ts";
import { aborted } from "../lib/aborted.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import { mayReplace, nameOf, planWorkers, type WorkerOrder } from "./plan.ts";
import { PodLife } from "./pod-life.ts";
import type { PodSyncer } from "./pod-syncer.ts";
import type { PodTerminator } from "./pod-terminator.ts";
import { PodWorker } from "./pod-worker.ts";

export interface RemovalRows {
  /** Committed to disk when it returns; one transaction. */
  begin(removals: readonly Removal[]): void;
  all(): readonly Removal[];
}

export interface PodWorkersOptions {
  readonly syncer: PodSyncer;
  readonly terminator: PodTerminator;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly removals: RemovalRows;
  readonly restartPolicy: BackoffPolicy;
  readonly cached: (uid: PodUID) => ObservedPod | undefined;
  readonly observed: () => ReadonlyMap<PodUID, ObservedPod>;
  readonly ensureImage: (container: Container, signal: AbortSignal) => Promise<string>;
  /** A new life begins: nothing of an earlier one may leak into it. */
  readonly beginLife: (desired: DesiredPod) => void;
  /** A worker began, ended or changed what it waits for. */
  readonly onChange: (uid: PodUID) => void;
}

/** What the node shows of one namespace/name. */
export interface WorkerEntry {
  readonly desired: DesiredPod;
  /** Wall ms since which it is being stopped. */
  readonly deletedAt?: number;
  /** A successor that pulls or waits while this pod still runs. */
  readonly pendingUpdate?: {
    readonly specHash: string;
    readonly reason: string;
    readonly message: string;
  };
}

const AGAIN_MS = 10_000;
const SILENT = { reason: "SourceNotReady", message: "the old pod's source has not spoken yet" };
const PULLING = { reason: "Pulling", message: "pulling the images of the new spec" };

export class PodWorkers {
  readonly #options: PodWorkersOptions;
  readonly #workers = new Map<PodUID, PodWorker>();
  /** Why a successor does not start yet. */
  readonly #pending = new Map<PodUID, { readonly reason: string; readonly message: string }>();
  /** namespace/name → UID that shall run under it. */
  #current = new Map<string, PodUID>();
  #desired: DesiredState = NOTHING_DESIRED;
  readonly #signal: AbortSignal;

  constructor(options: PodWorkersOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Makes `desired` what shall run; call it again whenever the runtime's pods came or went. */
  apply(desired: DesiredState): void {
    this.#desired = desired;
    this.#current = new Map(desired.pods.map(({ pod, uid }) => [nameOf(pod.metadata), uid]));
    const orders = planWorkers({
      desired,
      workers: [...this.#workers.values()].map(({ facts }) => facts),
      observed: [...this.#options.observed().values()],
      removals: this.#options.removals.all(),
    });
    this.#remove(orders.filter((order) => order.type === "Remove").map((order) => order.removal));
    for (const order of orders) this.#perform(order);
    // Whoever waits for its turn learns of it here, and whoever runs of what else is left under its name.
    const workers = [...this.#workers.values()];
    const others = [...this.#strays(), ...workers.filter((worker) => !this.#isCurrent(worker))];
    const contested = new Set(others.map(nameOf));
    for (const worker of workers)
      if (contested.has(nameOf(worker)) || this.#pending.has(worker.uid)) worker.notify();
  }

  /** The runtime's view of a pod changed. */
  notify(uid: PodUID): void {
    const worker = this.#workers.get(uid);
    if (worker === undefined) this.apply(this.#desired);
    else worker.notify();
  }

  /** Whether the UID has a worker, in whatever phase. */
  has(uid: PodUID): boolean {
    return this.#workers.has(uid);
  }

  /** Every pod that has a worker and a spec, predecessors and leaving ones too. */
  all(): readonly WorkerEntry[] {
    return [...this.#workers.values()].flatMap((worker) =>
      worker.desired === undefined ? [] : entryOf(worker, worker.desired),
    );
  }

  /** Whether its worker is doing something to it, and will look again by itself. */
  isBusy(uid: PodUID): boolean {
    return this.#workers.get(uid)?.isBusy ?? false;
  }

  /** Whether the pod waits for images before it takes over its name. */
  isPulling(uid: PodUID): boolean {
    const reason = this.#pending.get(uid)?.reason;
    return reason !== undefined && reason !== "Stopping";
  }

  /** One entry per namespace/name: the pod that runs, or the one that will. */
  entries(): readonly WorkerEntry[] {
    const byName = new Map<string, PodWorker[]>();
    for (const worker of this.#workers.values()) {
      if (worker.desired === undefined) continue;
      const name = nameOf(worker);
      byName.set(name, [...(byName.get(name) ?? []), worker]);
    }
    return [...byName.values()]
      .map((workers) => this.#entry(workers))
      .filter((e) => e !== undefined);
  }

  #entry(workers: readonly PodWorker[]): WorkerEntry | undefined {
    const current = workers.find((worker) => this.#isCurrent(worker));
    const before = workers.find((worker) => worker !== current && this.#exists(worker));
    const shown = before ?? current ?? workers[0];
    if (shown?.desired === undefined) return undefined;
    const entry = entryOf(shown, shown.desired);
    if (shown !== before || current?.desired === undefined) return entry;
    const why = this.#pending.get(current.uid) ?? PULLING;
    return { ...entry, pendingUpdate: { specHash: current.desired.specHash, ...why } };
  }

  #perform(order: WorkerOrder): void {
    switch (order.type) {
      case "Start":
        if (this.#options.cached(order.desired.uid) === undefined)
          this.#options.beginLife(order.desired);
        this.#begin({ ...order.desired.pod.metadata, uid: order.desired.uid }, order.desired);
        return;
      case "Update":
        this.#workers.get(order.desired.uid)?.update(order.desired);
        return;
      case "Remove":
        return;
    }
  }

  /** First the rows, all in one commit, then the orders: a removal that is not written down does not begin. */
  #remove(removals: readonly Removal[]): void {
    const fresh = removals.filter(({ uid, why }) => this.#workers.get(uid)?.removal?.why !== why);
    if (fresh.length === 0) return;
    this.#options.removals.begin(fresh);
    for (const removal of fresh) {
      const worker = this.#workers.get(removal.uid) ?? this.#begin(removal, undefined);
      worker.remove(removal);
      this.#options.onChange(removal.uid);
    }
  }

  #begin(
    of: { readonly uid: PodUID; readonly namespace: string; readonly name: string },
    desired: DesiredPod | undefined,
  ): PodWorker {
    const { clock, random, log, syncer, terminator, restartPolicy } = this.#options;
    const { uid, namespace, name } = of;
    const life = new PodLife(restartPolicy, clock);
    const clearName = (own: PodWorker, signal: AbortSignal) => this.#clearName(own, life, signal);
    const common = { life, syncer, terminator, clock, random, log, clearName };
    const worker = new PodWorker({ uid, namespace, name, desired, ...common });
    this.#workers.set(uid, worker);
    // After the orders of this plan, so that a worker without a spec finds its removal.
    queueMicrotask(() => void this.#live(worker));
    return worker;
  }

  async #live(worker: PodWorker): Promise<void> {
    await worker.run(this.#signal);
    if (this.#signal.aborted) return;
    this.#workers.delete(worker.uid);
    this.#pending.delete(worker.uid);
    this.#options.onChange(worker.uid);
    await this.#applyAgain();
  }

  /** Nobody else tries again what cannot be written down now. */
  async #applyAgain(): Promise<void> {
    const { clock, log } = this.#options;
    while (!this.#signal.aborted) {
      try {
        return this.apply(this.#desired);
      } catch (error) {
        log.error("cannot act on the end of a pod", { error: messageOf(error) });
        await clock.sleep(AGAIN_MS, this.#signal);
      }
    }
  }

  /** Never both: a wanted pod ends every other UID of its name first, but not before its own images are here. */
  async #clearName(own: PodWorker, life: PodLife, signal: AbortSignal): Promise<boolean> {
    if (!this.#isCurrent(own)) return this.#exists(own);
    const others = this.#others(own);
    if (others.length === 0) {
      this.#pending.delete(own.uid);
      return true;
    }
    if (others.some((other) => !this.#mayEnd(other, own))) {
      this.#say(own, SILENT);
      return false;
    }
    if (!this.#exists(own)) {
      if ((this.#pending.get(own.uid) ?? SILENT) === SILENT) this.#say(own, PULLING);
      await this.#pullFirst(own, life, signal);
    }
    if (signal.aborted || !this.#isCurrent(own)) return false;
    this.#say(own, { reason: "Stopping", message: "waiting for the old pod to stop" });
    const running = this.#others(own);
    this.#remove(
      running
        .filter(({ uid }) => this.#workers.get(uid)?.removal === undefined)
        .map(({ uid, namespace, name }) => ({ uid, namespace, name, why: "Replaced" })),
    );
    const ends = running.map(({ uid }) => this.#workers.get(uid)?.gone ?? Promise.resolve());
    await Promise.race([Promise.all(ends), aborted(signal)]);
    this.#pending.delete(own.uid);
    return !signal.aborted && this.#isCurrent(own);
  }

  async #pullFirst(own: PodWorker, life: PodLife, signal: AbortSignal): Promise<void> {
    const containers = own.desired?.pod.spec.containers ?? [];
    try {
      for (const container of containers) await this.#options.ensureImage(container, signal);
    } catch (error) {
      if (!signal.aborted) {
        life.noteFailure(
          containers.map(({ name }) => name),
          error,
        );
        this.#say(own, { reason: reasonOf(error, "ErrImagePull"), message: messageOf(error) });
      }
      throw error;
    }
  }

  #say(own: PodWorker, why: { readonly reason: string; readonly message: string }): void {
    this.#pending.set(own.uid, why);
    this.#options.onChange(own.uid);
  }

  /** Whatever else carries the name: workers that are not gone yet, and pods only the runtime knows. */
  #others(own: PodWorker): readonly (PodWorker | ObservedPod)[] {
    const working = [...this.#workers.values()].filter((worker) => worker.phase !== "Terminated");
    return [...working, ...this.#strays()].filter(
      (other) => other.uid !== own.uid && nameOf(other) === nameOf(own),
    );
  }

  #mayEnd(other: PodWorker | ObservedPod, own: PodWorker): boolean {
    const isLeaving = this.#workers.get(other.uid)?.removal !== undefined;
    const source = "source" in other ? other.source : other.desired?.source;
    if (isLeaving || own.desired === undefined) return true;
    return mayReplace(source, own.desired.source, this.#desired.ready);
  }

  /** Pods of ours in the runtime that have no worker. */
  #strays(): readonly ObservedPod[] {
    return [...this.#options.observed().values()].filter(({ uid }) => !this.#workers.has(uid));
  }

  #isCurrent(worker: PodWorker): boolean {
    const current = this.#current.get(nameOf(worker));
    // A name that nobody wants any more, but whose source has not spoken: it goes on as before.
    return current === undefined || current === worker.uid;
  }

  #exists(worker: PodWorker): boolean {
    return this.#options.cached(worker.uid) !== undefined;
  }
}

function entryOf({ removedAt }: PodWorker, desired: DesiredPod): WorkerEntry {
  return removedAt === undefined ? { desired } : { desired, deletedAt: removedAt };
}
