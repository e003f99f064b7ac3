// Performs: starts and ends the workers, one per pod UID, from the plan; the newest desired state wins.
// kubelet: pod workers

import type { Edges } from "../edges.ts";
import {
  NOTHING_DESIRED,
  type DesiredPod,
  type DesiredState,
  type Removal,
} from "../api/pod/desired-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import { isStatic } from "../api/pod/labels.ts";
import { messageOf } from "../lib/errors.ts";
import type { Store } from "../store/store.ts";
import { nameOf, planWorkers, removalOf, type PodIdentity } from "./plan-workers.ts";
import { PodSyncState } from "./pod-sync-state.ts";
import type { PodSyncer } from "./pod-syncer.ts";
import type { StatusPublisher } from "./publish-status.ts";
import type { PodTerminator } from "./pod-terminator.ts";
import type { PodStartLatency } from "./pod-start-latency.ts";
import { PodWorker } from "./pod-worker.ts";
import { PodReplacement, type PodReplacementOptions } from "./pod-replacement.ts";
import type { PodCleanup } from "./pod-cleanup.ts";
import type { WorkerRegistry } from "./pods.ts";

export interface PodWorkersOptions
  extends
    Omit<PodReplacementOptions, "remove" | "syncer">,
    Pick<Edges, "clock" | "random" | "log"> {
  readonly syncer: PodSyncer;
  readonly terminator: PodTerminator;
  readonly publisher: StatusPublisher;
  readonly removals: Pick<Store["removals"], "begin" | "all">;
  readonly killed: Store["killed"];
  /** The longest pause between two restarts of a crashing container, unless the pod sets one. */
  readonly maxBackoffMs: number;
  /** Who starts first: the higher. */
  readonly urgencyOf: (desired: DesiredPod) => number;
  /** Removes what an earlier run of the UID left behind. */
  readonly cleanup: Pick<PodCleanup, "beginLife">;
  readonly startLatency: Pick<PodStartLatency, "seen" | "cleared">;
  /** A worker was added, removed, or waits for something else. */
  readonly onChange: (uid: PodUID) => void;
  /** Pods of documents are removed to make room; the next merge refuses them. */
  readonly onPreempted: () => void;
  /** Seconds that a pod which the node itself ends gets; absent, or undefined of one pod = its own. */
  readonly graceByNode?: (uid: PodUID) => number | undefined;
  readonly signal: AbortSignal;
}

const AGAIN_MS = 10_000;

export class PodWorkers {
  readonly #options: PodWorkersOptions;
  readonly #workers: WorkerRegistry;
  readonly #replacement: PodReplacement;
  #desired: DesiredState = NOTHING_DESIRED;

  constructor(options: PodWorkersOptions) {
    this.#options = options;
    this.#workers = options.pods.workers;
    this.#replacement = new PodReplacement({
      ...options,
      remove: (removals) => this.#remove(removals),
    });
  }

  /** Sets the desired state; to be called again when pods appeared in or disappeared from the runtime. */
  apply(desired: DesiredState): void {
    this.#desired = desired;
    this.#replacement.update(desired);
    this.#replacement.refuse(desired.held);
    const { removals, starts, updates } = planWorkers({
      desired,
      workers: this.#workers.list(),
      observed: [...this.#options.pods.cache.all().values()],
      removals: this.#options.removals.all(),
    });
    const anew = updates.filter((pod) => this.#hasEndedForDocument(pod));
    this.#remove([...removals, ...anew.map(({ pod }) => removalOf(pod.metadata, "Replaced"))]);
    for (const pod of desired.pods) this.#replacement.hurryOldLife(pod);
    const { urgencyOf } = this.#options;
    for (const pod of starts.toSorted((a, b) => urgencyOf(b) - urgencyOf(a))) this.#start(pod);
    for (const pod of updates) this.#workers.get(pod.uid)?.update(pod);
    // What has made room shows for which pod, as the merge by now says.
    for (const worker of this.#workers.list())
      if (worker.removal?.why === "Preempted") worker.publishStatus();
    // Pods that wait, and pods that share their name with another, must sync again.
    const workers = this.#workers.list();
    const others = [
      ...this.#replacement.strays(),
      ...workers.filter((worker) => !this.#workers.isCurrent(worker)),
    ];
    const contested = new Set(others.map(nameOf));
    const waits = (worker: PodWorker): boolean =>
      this.#workers.pending(worker.uid) !== undefined || this.#replacement.isPassedOver(worker);
    for (const worker of workers)
      if (contested.has(nameOf(worker)) || waits(worker)) worker.notify();
  }

  /** What a document has brought to its end is no end of a file's pod of the same UID: that one begins anew. */
  #hasEndedForDocument({ uid, source }: DesiredPod): boolean {
    const before = this.#workers.get(uid)?.desired?.source;
    if (before === undefined || isStatic(before) || !isStatic(source)) return false;
    return this.#options.pods.statuses.isOver(uid);
  }

  /** Ends the pod for good; the caller keeps the next merge from starting it again. */
  evict(pod: PodIdentity): void {
    const removal = removalOf(pod, "Evicted");
    // The disk may be what is full, and the pod what fills it. After a crash the pod is evicted again, or runs on as if
    // nothing had happened where that it is evicted could not be stored either.
    this.#removeAnyway(
      [removal],
      "cannot store the removal of an evicted pod; it is stopped anyway",
    );
  }

  /** Ends pods because the node shuts down; the caller keeps the next merge from starting them again. */
  shutDown(removals: readonly Removal[]): void {
    this.#removeAnyway(
      removals,
      "cannot store that a pod stops for the shutdown; it is stopped anyway",
    );
  }

  #removeAnyway(removals: readonly Removal[], message: string): void {
    try {
      this.#remove(removals);
    } catch (thrown) {
      const error = messageOf(thrown);
      const fresh = this.#fresh(removals);
      for (const removal of fresh)
        this.#options.log.warn(message, { pod: nameOf(removal), uid: removal.uid, error });
      this.#perform(fresh);
    }
  }

  /** The runtime's view of a pod changed. */
  notify(uid: PodUID): void {
    const worker = this.#workers.get(uid);
    if (worker === undefined) this.apply(this.#desired);
    else worker.notify();
  }

  #start(desired: DesiredPod): void {
    const { pods, cleanup, startLatency } = this.#options;
    if (pods.cache.get(desired.uid) === undefined) {
      cleanup.beginLife(desired);
      startLatency.seen(desired);
    }
    this.#begin({ ...desired.pod.metadata, uid: desired.uid }, desired);
  }

  /** The rows are committed first: a removal that is not stored does not begin. */
  #remove(removals: readonly Removal[]): void {
    const fresh = this.#fresh(removals);
    if (fresh.length === 0) return;
    this.#options.removals.begin(fresh);
    this.#perform(fresh);
  }

  #fresh(removals: readonly Removal[]): readonly Removal[] {
    return removals.filter(({ uid, why }) => this.#workers.get(uid)?.removal?.why !== why);
  }

  #perform(removals: readonly Removal[]): void {
    for (const removal of removals) {
      const worker = this.#workers.get(removal.uid) ?? this.#begin(removal, undefined);
      worker.remove(removal);
      const grace = isByNode(removal) ? this.#options.graceByNode?.(removal.uid) : undefined;
      if (grace !== undefined) worker.shortenGrace(grace);
      this.#options.onChange(removal.uid);
    }
    const waiting = removals.filter((one) => one.why === "Preempted" || isByNode(one));
    if (waiting.length > 0) this.#forgo(waiting);
  }

  /** Until the next merge refuses them: a pod that has made room, or that the node ends, must not begin its next life at its end. */
  #forgo(waiting: readonly Removal[]): void {
    const names = new Set(waiting.map(nameOf));
    this.#desired = {
      ...this.#desired,
      pods: this.#desired.pods.filter(({ pod }) => !names.has(nameOf(pod.metadata))),
      held: new Set([...this.#desired.held, ...names]),
    };
    this.#replacement.update(this.#desired);
    this.#options.onPreempted();
  }

  #begin(pod: PodIdentity, desired: DesiredPod | undefined): PodWorker {
    const { uid, namespace, name } = pod;
    const worker = new PodWorker({
      ...this.#options,
      uid,
      namespace,
      name,
      desired,
      syncState: new PodSyncState({ ...this.#options, uid }),
      clearName: (own, signal) => this.#replacement.clearName(own, signal),
    });
    this.#workers.add(worker);
    // After this plan, so that a worker without a spec has its removal.
    queueMicrotask(() => void this.#run(worker));
    return worker;
  }

  async #run(worker: PodWorker): Promise<void> {
    const { signal } = this.#options;
    await worker.run(signal);
    if (signal.aborted) return;
    this.#workers.remove(worker.uid);
    this.#options.onChange(worker.uid);
    await this.#applyAgain();
  }

  /** Retries until the removals could be stored, because nothing else would. */
  async #applyAgain(): Promise<void> {
    const { clock, log, signal } = this.#options;
    while (!signal.aborted) {
      try {
        return this.apply(this.#desired);
      } catch (error) {
        log.error("cannot apply the desired state after a pod has ended; retrying", {
          error: messageOf(error),
        });
        await clock.sleep(AGAIN_MS, signal);
      }
    }
  }
}

/** The node itself ends the pod, which waits until it may run again. */
function isByNode({ why }: Removal): boolean {
  return why === "Evicted" || why === "Shutdown";
}
