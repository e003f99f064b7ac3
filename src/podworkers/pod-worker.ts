// Performs: the worker of one pod UID, in three phases: syncing until its removal, terminating until nothing is left,
// terminated. kubelet: podWorkerLoop

import type { Edges } from "../edges.ts";
import type { DesiredPod, Removal } from "../api/pod/desired-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import { aborted, type Monotonic } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import { GracePeriod } from "../runtime/grace-period.ts";
import type { PodSyncState } from "./pod-sync-state.ts";
import type { PodStartLatency } from "./pod-start-latency.ts";
import { retryTime, type PodSyncer, type SyncOutcome } from "./pod-syncer.ts";
import { nameOf, type PodIdentity } from "./plan-workers.ts";
import type { StatusPublisher } from "./publish-status.ts";
import type { PodTerminator } from "./pod-terminator.ts";
import { SyncBackoff } from "./sync-backoff.ts";
import { podHand } from "../store/start-guard/hand.ts";
import type { WorkGuard } from "../store/start-guard/start-guard.ts";

interface PodWorkerOptions extends PodIdentity, Pick<Edges, "clock" | "random" | "log" | "meter"> {
  /** undefined for a pod that only the runtime has: it can only be removed. */
  readonly desired: DesiredPod | undefined;
  readonly syncState: PodSyncState;
  readonly syncer: PodSyncer;
  readonly terminator: PodTerminator;
  readonly publisher: Pick<StatusPublisher, "publishTerminating">;
  readonly guard: WorkGuard;
  readonly startLatency: Pick<PodStartLatency, "cleared">;
  /** Resolves true when nothing of another UID with this name is left; false = this pod must not act. */
  readonly clearName: (worker: PodWorker, signal: AbortSignal) => Promise<boolean>;
}

type WorkerPhase = "Syncing" | "Terminating" | "Terminated";

export class PodWorker {
  readonly uid: PodUID;
  readonly namespace: string;
  readonly name: string;
  readonly syncState: PodSyncState;
  /** Nothing of it runs and its network is released: a successor may start. Never rejects. */
  readonly gone: Promise<void>;

  readonly #options: PodWorkerOptions;
  readonly #stopSyncing = new AbortController();
  readonly #resolveGone: () => void;
  #desired: DesiredPod | undefined;
  /** Of the next sync. kubelet: SyncPodType */
  #operation: "create" | "update" | "sync" = "create";
  #removal: Removal | undefined;
  #phase: WorkerPhase = "Syncing";
  #changes = 0;
  #wake: (() => void) | undefined;
  /** Of the pause between two syncs; undefined = it does not pause, or until something changes. */
  #until: Monotonic | undefined;
  readonly #backoff: SyncBackoff;
  #isActing = false;
  #removedAt: number | undefined;
  #isGone = false;
  /** A shortened grace period is kept in memory only: after a restart the pod that waits for this one shortens it again. */
  readonly #grace: GracePeriod;

  constructor(options: PodWorkerOptions) {
    this.#options = options;
    this.uid = options.uid;
    this.namespace = options.namespace;
    this.name = options.name;
    this.syncState = options.syncState;
    this.#desired = options.desired;
    this.#backoff = new SyncBackoff(options);
    this.#grace = new GracePeriod(options.desired?.pod.spec.terminationGracePeriodSeconds);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.gone = promise;
    this.#resolveGone = () => {
      this.#isGone = true;
      resolve();
    };
  }

  get phase(): WorkerPhase {
    return this.#phase;
  }

  /** Whether `gone` has resolved. */
  get isGone(): boolean {
    return this.#isGone;
  }

  get desired(): DesiredPod | undefined {
    return this.#desired;
  }

  /** Wall-clock milliseconds of the first request to remove the pod, for display only. */
  get removedAt(): number | undefined {
    return this.#removedAt;
  }

  /** When a container that waits is tried again; undefined = it does not wait for a time. */
  nextTry(container: string): Monotonic | undefined {
    const { waiting, retries } = this.syncState;
    return waiting.has(container) ? (retries.get(container) ?? this.#until) : undefined;
  }

  /** Something was done to the pod since the runtime was asked about it. */
  get isUnsure(): boolean {
    return this.syncState.unsure;
  }

  get removal(): Removal | undefined {
    return this.#removal;
  }

  /** A newer version of the same UID, which can differ in metadata only. */
  update(desired: DesiredPod): void {
    if (this.#phase !== "Syncing" || desired === this.#desired) return;
    this.#desired = desired;
    if (this.#operation === "sync") this.#operation = "update";
    this.notify();
  }

  /** Something about the pod may have changed: look again. */
  notify(): void {
    this.#changes += 1;
    this.#wake?.();
    // A hook may take long: the probes of the other containers do not wait for it.
    if (this.#isActing) this.publishStatus();
  }

  /** Publishes the pod's status as it is now, also while a sync is under way: probes may change it at any time. */
  publishStatus(): void {
    const { syncer, publisher } = this.#options;
    if (this.#desired === undefined) return;
    if (this.#phase === "Syncing" && this.#removal === undefined)
      syncer.publishCached(this.#desired, this.syncState);
    else if (this.#phase === "Terminating") publisher.publishTerminating(this.#desired);
  }

  /** Stops the pod for good. `Deleted` outweighs `Replaced`; the removal's row is in the database already. */
  remove(removal: Removal): void {
    if (this.#removal === undefined || removal.why === "Deleted") this.#removal = removal;
    this.#removedAt ??= this.#options.clock.now();
    const seconds = this.#desired?.pod.spec.terminationGracePeriodSeconds;
    if (seconds !== undefined) this.syncState.shorten(seconds);
    this.#stopSyncing.abort(new Error("the pod is being removed"));
    this.notify();
  }

  /** Limits the grace period, if the pod is being stopped. */
  shortenGrace(seconds: number): void {
    if (this.#removal === undefined) return;
    this.syncState.shorten(seconds);
    this.#grace.shorten(seconds);
  }

  /** Restarts these containers; false = the pod is being removed. */
  orderRestart(ids: readonly string[]): boolean {
    if (this.#phase !== "Syncing" || this.#removal !== undefined) return false;
    for (const id of ids) this.syncState.ordered.add(id);
    this.notify();
    return true;
  }

  /** Takes an order back for the containers that have not been stopped yet. */
  withdrawRestart(ids: readonly string[]): void {
    for (const id of ids) this.syncState.ordered.delete(id);
  }

  /** Resolves when the pod is terminated, or when `signal` aborts, which stops no pod. */
  async run(signal: AbortSignal): Promise<void> {
    while (this.#removal === undefined && this.#desired !== undefined) {
      if (signal.aborted) return;
      const seen = this.#changes;
      const until = await this.#sync(this.#desired, signal);
      if (until !== undefined && until <= this.#options.clock.monotonic()) continue;
      await this.#pause(seen, until, signal);
    }
    this.#phase = "Terminating";
    while (!signal.aborted && this.#removal !== undefined) {
      if (await this.#terminate(this.#removal, signal)) break;
    }
    if (signal.aborted) return;
    this.#phase = "Terminated";
    this.#resolveGone();
  }

  /** One sync; when to sync again at the latest (0 = at once, undefined = when something changes). */
  async #sync(desired: DesiredPod, outer: AbortSignal): Promise<Monotonic | undefined> {
    const signal = AbortSignal.any([outer, this.#stopSyncing.signal]);
    try {
      await this.#options.syncer.settle(desired, this.syncState);
      if (!(await this.#options.clearName(this, signal))) return undefined;
      this.#options.startLatency.cleared(this.uid);
      this.#isActing = true;
      using held = this.#options.guard.hold(podHand(this));
      const operation = this.#operation;
      this.#operation = "sync";
      const outcome = await this.#measured(operation, () =>
        this.#options.syncer.sync(desired, this.syncState, signal),
      );
      // Not after a failure: the next sync may come to what this one did not.
      if (outcome.error === undefined && !outcome.progressed) held.settle();
      if (signal.aborted) return undefined;
      return this.#next(outcome);
    } catch (error) {
      if (signal.aborted) return undefined;
      return this.#retryAfter(error);
    } finally {
      this.#isActing = false;
    }
  }

  /** How long it took is counted also if it failed. */
  async #measured<T>(operation_type: string, run: () => Promise<T>): Promise<T> {
    const { clock, meter } = this.#options;
    const begun = clock.monotonic();
    try {
      return await run();
    } finally {
      const seconds = (clock.monotonic() - begun) / 1000;
      meter?.observe("kubelet_pod_worker_duration_seconds", seconds, { operation_type });
    }
  }

  #next(outcome: SyncOutcome): Monotonic | undefined {
    if (outcome.error !== undefined) return this.#retryAfter(outcome.error);
    const inits = this.#desired?.pod.spec.initContainers.length ?? 0;
    if (!this.#backoff.succeeded(outcome.progressed, inits))
      return this.#retryAfter(new Error("the runtime answers, but the pod does not change"));
    return outcome.progressed ? 0 : outcome.wakeAt;
  }

  #retryAfter(error: unknown): Monotonic {
    const at = retryTime(error) ?? 0;
    const isLater = at > this.#options.clock.monotonic();
    // What names its own time has a back-off of its own, which this one must not lengthen.
    if (!isLater) return this.#backOff("sync failed", error, "SyncError");
    this.#logFailure("sync failed", error, "SyncError");
    return at;
  }

  /** Logs one more failure in a row; returns when to try again. */
  #backOff(message: string, error: unknown, reason: string): Monotonic {
    this.#logFailure(message, error, reason);
    return this.#backoff.failed();
  }

  #logFailure(message: string, error: unknown, reason: string): void {
    this.#options.log.warn(message, {
      pod: nameOf(this),
      reason: reasonOf(error, reason),
      error: messageOf(error),
    });
  }

  async #terminate(removal: Removal, signal: AbortSignal): Promise<boolean> {
    const { terminator, clock } = this.#options;
    try {
      const why = (): Removal["why"] => this.#removal?.why ?? removal.why;
      const ending = { removal, why, desired: this.#desired, grace: this.#grace };
      await this.#measured("kill", () => terminator.terminate(ending, () => this.#resolveGone()));
      return true;
    } catch (error) {
      const retryAt = this.#backOff("removal not finished", error, "KillPodError");
      await clock.sleep(retryAt - clock.monotonic(), signal);
      return false;
    }
  }

  /** Waits until `until`, a change after `seen`, or the abort. */
  async #pause(seen: number, until: Monotonic | undefined, signal: AbortSignal): Promise<void> {
    if (this.#changes !== seen || signal.aborted) return;
    const { clock } = this.#options;
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    this.#wake = wake;
    signal.addEventListener("abort", wake, { once: true });
    this.#until = until;
    if (until === undefined) await aborted(woken.signal);
    else await clock.sleep(Math.max(0, until - clock.monotonic()), woken.signal);
    signal.removeEventListener("abort", wake);
    this.#wake = undefined;
    this.#until = undefined;
  }
}
