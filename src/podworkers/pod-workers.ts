// Performs: one worker per pod UID, latest wins; the only place where workers begin and end. kubelet: pod workers

import { NOTHING_DESIRED, type DesiredPod, type DesiredState } from "../api/pod/desired-pod.ts";
import type { RecordEvent } from "../api/v1/events.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodStatus } from "../api/v1/pod-status.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import type { Removal } from "../api/pod/removal.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import { KillMarks, type KilledRows } from "./kill-marks.ts";
import { nameOf, planWorkers, type WorkerOrder } from "./plan.ts";
import { PodLife } from "./pod-life.ts";
import type { PodSyncer } from "./pod-syncer.ts";
import type { PodTerminator } from "./pod-terminator.ts";
import { PodWorker } from "./pod-worker.ts";
import { PULLING, Succession } from "./succession.ts";

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
  readonly killed: KilledRows;
  /** The longest pause between two restarts of a crashing container, unless the pod says so. */
  readonly maxBackoffMs: number;
  readonly cached: (uid: PodUID) => ObservedPod | undefined;
  readonly observed: () => ReadonlyMap<PodUID, ObservedPod>;
  /** Resolves when all images of the pod are on this node. */
  readonly fetchImages: (pod: Pod, signal: AbortSignal) => Promise<void>;
  /** As in Succession. */
  readonly requireConfig?: ((desired: DesiredPod) => void) | undefined;
  /** As in Succession. */
  readonly isHeld?: ((desired: DesiredPod) => boolean) | undefined;
  readonly status: (uid: PodUID) => PodStatus | undefined;
  readonly bootId: string;
  readonly record: RecordEvent;
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

export class PodWorkers {
  readonly #options: PodWorkersOptions;
  readonly #workers = new Map<PodUID, PodWorker>();
  readonly #succession: Succession;
  #desired: DesiredState = NOTHING_DESIRED;
  readonly #signal: AbortSignal;

  constructor(options: PodWorkersOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#succession = new Succession({
      ...options,
      workers: this.#workers,
      remove: (removals) => this.#remove(removals),
      say: (desired, life) => options.syncer.sayKnown(desired, life),
    });
  }

  /** Makes `desired` what shall run; call it again whenever the runtime's pods came or went. */
  apply(desired: DesiredState): void {
    this.#desired = desired;
    this.#succession.update(desired);
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
    const others = [
      ...this.#succession.strays(),
      ...workers.filter((worker) => !this.#isCurrent(worker)),
    ];
    const contested = new Set(others.map(nameOf));
    for (const worker of workers)
      if (contested.has(nameOf(worker)) || this.#succession.pending(worker.uid) !== undefined)
        worker.notify();
  }

  /** The runtime's view of a pod changed. */
  notify(uid: PodUID): void {
    const worker = this.#workers.get(uid);
    if (worker === undefined) this.apply(this.#desired);
    else worker.notify();
  }

  /** Publishes what is true of a pod by now, whatever its worker is busy with. */
  say(uid: PodUID): void {
    this.#workers.get(uid)?.say();
  }

  /** Whether the UID has a worker, in whatever phase. */
  has(uid: PodUID): boolean {
    return this.#workers.has(uid);
  }

  /** Whether a pod of this namespace/name has a worker, in whatever phase. */
  hasName(name: string): boolean {
    return [...this.#workers.values()].some((worker) => nameOf(worker) === name);
  }

  /** Every pod that has a worker and a spec, predecessors and leaving ones too. */
  all(): readonly WorkerEntry[] {
    return [...this.#workers.values()].flatMap((worker) =>
      worker.desired === undefined ? [] : entryOf(worker, worker.desired),
    );
  }

  /** Every pod that is being stopped, also one whose spec is forgotten. */
  leaving(): readonly Removal[] {
    return [...this.#workers.values()].flatMap(({ removal }) => removal ?? []);
  }

  /** Whether its worker is doing something to it, and will look again by itself. */
  isBusy(uid: PodUID): boolean {
    return this.#workers.get(uid)?.isBusy ?? false;
  }

  /** Whether the pod waits for images before it takes over its name. */
  isPulling(uid: PodUID): boolean {
    return this.#succession.isPulling(uid);
  }

  /** The status of some pod changed: others may have waited for it. */
  onStatusChanged(): void {
    this.#succession.onStatusChanged();
  }

  /** A pod that is being stopped may take no longer than this any more. False = it is not being stopped. */
  shortenGrace(uid: PodUID, seconds: number): boolean {
    return this.#workers.get(uid)?.shortenGrace(seconds) ?? false;
  }

  /** Ends these containers of a pod and starts them anew. False = it is not there, or is being stopped. */
  orderRestart(uid: PodUID, ids: readonly string[]): boolean {
    return this.#workers.get(uid)?.orderRestart(ids) ?? false;
  }

  /** Whichever of these has not been ended by now stays; an order is for who gave it to take back. */
  withdrawRestart(uid: PodUID, ids: readonly string[]): void {
    this.#workers.get(uid)?.withdrawRestart(ids);
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
    const why = this.#succession.pending(current.uid) ?? PULLING;
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
    const { clock, random, log, syncer, terminator, maxBackoffMs, killed } = this.#options;
    const { uid, namespace, name } = of;
    const kills = new KillMarks({ uid, rows: killed, log });
    const life = new PodLife({ maxBackoffMs, clock, kills });
    const clearName = (own: PodWorker, signal: AbortSignal) =>
      this.#succession.clearName(own, life, signal);
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
    this.#succession.forget(worker.uid);
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

  #isCurrent(worker: PodWorker): boolean {
    return this.#succession.isCurrent(worker);
  }

  #exists(worker: PodWorker): boolean {
    return this.#options.cached(worker.uid) !== undefined;
  }
}

function entryOf({ removedAt }: PodWorker, desired: DesiredPod): WorkerEntry {
  return removedAt === undefined ? { desired } : { desired, deletedAt: removedAt };
}
